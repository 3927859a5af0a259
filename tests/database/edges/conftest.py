"""The sessions and the clock of the tests of the engine's rules, for the engine at its edges."""

from database.rules.conftest import another, clock, open_session, session

__all__ = ["another", "clock", "open_session", "session"]

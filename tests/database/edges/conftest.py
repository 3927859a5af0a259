"""The sessions and the clock of the tests of the engine's rules, for the engine at its edges."""

from collections.abc import Iterator

import pytest

from database.rules.conftest import another, clock, open_session, session
from lonnymq.testing import Clock

__all__ = ["another", "clock", "clock_18", "open_session", "session"]


@pytest.fixture
def clock_18(dsn_18: str) -> Iterator[Clock]:
    """The clock of `dsn_18`: time stands still until the test moves it."""
    clock = Clock(dsn_18)
    yield clock
    clock.close()

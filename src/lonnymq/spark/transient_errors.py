"""Which troubles pass: those of connections that broke, and of servers that come and go."""

from __future__ import annotations

PATIENCE = 120.0  # seconds, for a server that was there a moment ago
PASSING = ("08", "57P")  # the SQLSTATEs


def is_passing(error: Exception) -> bool:
    """Whether what the server said, if it said anything, is no verdict on the work."""
    state = getattr(error, "sqlstate", None)
    return not state or state.startswith(PASSING)

"""Sessions and the clock of the tests of the engine's rules."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from database.rules.factories import Session
from lonnymq.testing import Clock

OpenSession = Callable[..., Session]
# For tests with many cases each: they run on one server, the others on all.
on_18 = pytest.mark.parametrize("server", ["server_18"], indirect=True)


@pytest.fixture
def open_session() -> Iterator[OpenSession]:
    """Opens sessions, `open_session(dsn)`, that are closed after the test."""
    with ExitStack() as stack:
        yield lambda dsn, **options: stack.enter_context(Session(dsn, **options))


@pytest.fixture
def session(open_session: OpenSession, dsn: str) -> Session:
    return open_session(dsn, impatient=True)


@pytest.fixture
def another(open_session: OpenSession, dsn: str) -> Session:
    return open_session(dsn, impatient=True)


@pytest.fixture
def clock(direct_dsn: str) -> Iterator[Clock]:
    """Time stands still until the test moves it."""
    clock = Clock(direct_dsn)
    yield clock
    clock.close()

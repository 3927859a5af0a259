"""Channels that nobody needs are forgotten, however many others have to be kept."""

from database.rules.conftest import OpenSession
from lonnymq.testing import Clock

CHANNELS = "select array_agg(name order by name) from lonnymq.channel"
MAINTAIN = "select forgotten from lonnymq.queue_maintain(2)"


def test_idle_channels_are_forgotten_although_more_channels_with_settings_are_idle_too(
    open_session: OpenSession, dsn_18: str, clock_18: Clock
) -> None:
    session = open_session(dsn_18)
    for number in range(5):
        session.set(f"kept {number}", weight=2)
        session.fill(f"kept {number}", 1)
        session.complete(*session.dequeue(1))
        clock_18.advance(1)
    session.fill("not kept", 1)
    session.complete(*session.dequeue(1))
    clock_18.advance(2 * 86_400_000)
    assert sum(session.value(MAINTAIN) for _ in range(4)) == 1
    assert session.value(CHANNELS) == [f"kept {number}" for number in range(5)]


def test_retired_channels_are_forgotten_although_more_retired_channels_have_messages(
    open_session: OpenSession, dsn_18: str
) -> None:
    session = open_session(dsn_18)
    for name in ("a", "b", "c", "empty"):
        session.set(name, weight=2)
        if name != "empty":
            session.fill(name, 1)
    session.dequeue(1)
    for name in ("a", "b", "c", "empty"):
        session.value("select lonnymq.channel_retire(%s)", name)
    session.value(MAINTAIN)
    session.value(MAINTAIN)
    assert "empty" not in {
        row.name for row in session.rows("select name from lonnymq.channel_setting")
    }

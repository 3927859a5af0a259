"""`lonnymq queue`: show and set, and which channels a new default reaches."""

import pytest

import lonnymq
from commands import run


@pytest.fixture
def queue(dsn_18: str):
    with lonnymq.Queue(dsn_18) as queue:
        for channel in ("acme", "bloom"):
            queue.create(channel, b"x")
        queue.channel("bloom").set(max_concurrency=9)
        queue.maintain()
        yield queue


def limits(queue: lonnymq.Queue) -> dict[str, int | None]:
    queue.create("new", b"x")
    queue.maintain()
    return {each.channel: each.max_concurrency for each in queue.channel_stats()}


def test_new_defaults_reach_new_channels_and_the_answer_says_so(
    queue: lonnymq.Queue, dsn_18: str
) -> None:
    ran = run("queue", "set", "--default-max-concurrency", 2, "--history-keep", "7d", dsn=dsn_18)
    assert (ran.code, ran.out) == (
        0,
        "changed: queue in schema lonnymq. Existing channels keep their limits. "
        "Add --existing to change these channels too\n",
    )
    assert limits(queue) == {"acme": None, "bloom": 9, "new": 2}
    assert len(queue.dequeue(10)) == 3


def test_new_defaults_reach_existing_channels_that_had_the_old_ones(
    queue: lonnymq.Queue, dsn_18: str
) -> None:
    ran = run("queue", "set", "--default-max-concurrency", 2, "--existing", dsn=dsn_18)
    assert ran.out == "changed: queue in schema lonnymq, and 1 existing channel\n"
    assert limits(queue) == {"acme": 2, "bloom": 9, "new": 2}
    queue.create_many([b"x"] * 5, channel="acme")
    assert [each.channel for each in queue.dequeue(10)].count("acme") == 2


def test_settings_are_shown_and_none_takes_a_limit_away(dsn_18: str) -> None:
    assert run("queue", "set", "--max-concurrency", 50, dsn=dsn_18).out.startswith("changed: ")
    assert run("queue", "show", "--json", dsn=dsn_18).json["settings"]["max_concurrency"] == 50
    assert run("queue", "set", "--max-concurrency", "none", "--json", dsn=dsn_18).json == {
        "answer": "changed", "set": {"max_concurrency": None}, "channels": 0,
    }  # fmt: skip
    assert "max concurrency" in run("queue", "show", dsn=dsn_18).out
    assert run("queue", "set", "--default-weight", "heavy", dsn=dsn_18).code == 2

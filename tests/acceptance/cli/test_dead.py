"""`lonnymq dead`: list, show, redrive, purge."""

import pytest

import lonnymq
from commands import run
from support import message_id


@pytest.fixture
def queue(dsn_18: str):
    with lonnymq.Queue(dsn_18) as queue:
        yield queue


def bury(queue: lonnymq.Queue, channel: str, many: int, **options) -> list[int]:
    ids = [message_id(queue.channel(channel).create(b"poison", **options)) for _ in range(many)]
    queue.fail_many(queue.dequeue(limit=many), error=ValueError("codec unknown"), dead=True)
    return ids


def test_dead_messages_are_listed_with_why_they_died(queue: lonnymq.Queue, dsn_18: str) -> None:
    ids = bury(queue, "acme", 3, kind="a")
    people = run("dead", "list", dsn=dsn_18).out
    assert "ValueError: codec unknown" in people
    page = run("dead", "list", "--limit", 2, "--json", dsn=dsn_18).json
    assert [each["id"] for each in page["dead"]] == ids[:2]
    rest = run("dead", "list", "--after", page["next_after"], "--json", dsn=dsn_18).json
    assert ([each["id"] for each in rest["dead"]], rest["next_after"]) == (ids[2:], None)
    assert run("dead", "list", "--kind", "b", dsn=dsn_18).out == "No dead messages.\n"


def test_one_dead_message_is_shown_with_all_of_it(queue: lonnymq.Queue, dsn_18: str) -> None:
    [dead] = bury(queue, "acme", 1, headers={"trace": "x"})
    people = run("dead", "show", dead, dsn=dsn_18).out
    assert "poison" in people
    assert "codec unknown" in people
    assert run("dead", "show", dead, "--json", dsn=dsn_18).json["headers"] == {"trace": "x"}
    missing = run("dead", "show", 999, dsn=dsn_18)
    assert (missing.code, "lonnymq message explain 999" in missing.err) == (1, True)


def test_a_redrive_says_how_many_and_wants_a_yes(queue: lonnymq.Queue, dsn_18: str) -> None:
    bury(queue, "acme", 2, kind="a")
    bury(queue, "bloom", 3, kind="a")
    asked = run("dead", "redrive", "--channel", "acme", dsn=dsn_18)
    assert asked.code == 1
    assert "This will redrive 2 dead messages of channel 'acme'." in asked.err
    ran = run("dead", "redrive", "--channel", "acme", "--yes", "--json", dsn=dsn_18)
    assert ran.json == {"redriven": 2, "duplicate": 0, "not_found": 0}
    assert len(queue.dead_ids()) == 3
    assert run("dead", "redrive", "--all", "--yes", dsn=dsn_18).out == "redriven: 3 messages\n"


def test_many_are_redriven_in_chunks_past_those_that_stay(
    queue: lonnymq.Queue, dsn_18: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lonnymq.cli.commands.dead.CHUNK", 2)
    [first] = bury(queue, "acme", 1, key="taken")
    bury(queue, "acme", 5)
    queue.channel("acme").create(b"newer", key="taken")
    ran = run("dead", "redrive", "--all", "--yes", "--json", dsn=dsn_18)
    assert ran.json == {"redriven": 5, "duplicate": 1, "not_found": 0}
    assert (ran.code, queue.dead_ids()) == (1, [first])
    assert "1 message not redriven: a live message has the same key." in ran.err


def test_dead_messages_are_purged_by_id_kind_or_all(queue: lonnymq.Queue, dsn_18: str) -> None:
    first, second, third = bury(queue, "acme", 3, kind="a")
    asked = run("dead", "purge", first, dsn=dsn_18)
    assert (asked.code, "This will permanently delete 1 dead message." in asked.err) == (1, True)
    assert run("dead", "purge", first, "--yes", dsn=dsn_18).out == "deleted: 1 dead message\n"
    assert run("dead", "purge", first, second, "--yes", dsn=dsn_18).code == 1
    assert queue.dead_ids() == [third]
    purged = run("dead", "purge", "--kind", "a", "--yes", "--json", dsn=dsn_18)
    assert purged.json == {"deleted": 1}


@pytest.mark.parametrize("command", ["redrive", "purge"])
@pytest.mark.parametrize("choice", [(), (1, "--all"), ("--all", "--channel", "acme")])
def test_a_choice_that_is_not_clear_is_refused(
    dsn_18: str, command: str, choice: tuple[object, ...]
) -> None:
    ran = run("dead", command, *choice, "--yes", dsn=dsn_18)
    assert ran.code == 2
    assert "Select dead messages by" in ran.err

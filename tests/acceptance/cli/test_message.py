"""`lonnymq message`: create, peek, explain, cancel, purge."""

import json
import os
import subprocess
from pathlib import Path

import pytest

import lonnymq
from commands import PROGRAM, environment, run
from support import message_id


@pytest.fixture
def queue(dsn_18: str):
    with lonnymq.Queue(dsn_18) as queue:
        yield queue


def contents(queue: lonnymq.Queue, channel: str) -> list[bytes]:
    return [each.content for each in queue.peek(channel, limit=10_000)]


def test_one_message_is_created_with_all_that_it_can_have(
    queue: lonnymq.Queue, dsn_18: str
) -> None:
    options = ["--kind", "transcode", "--key", "n", "--headers", '{"trace": 1}', "--delay", "2h"]
    ran = run("message", "create", "acme", "hällo", *options, "--json", dsn=dsn_18)
    [message] = queue.peek("acme")
    assert ran.json == {"answer": "created", "id": message.id, "channel": "acme", "reason": None}
    assert (message.content.decode(), message.kind, message.key) == ("hällo", "transcode", "n")
    assert message.headers == {"trace": 1}
    assert message.dequeue_at - message.created_at >= 7_190_000
    again = run("message", "create", "acme", "x", "--key", "n", dsn=dsn_18)
    assert (again.code, again.out) == (0, f"duplicate: {message.id}\n")


def test_a_moment_is_written_with_its_zone_or_as_a_number(
    queue: lonnymq.Queue, dsn_18: str
) -> None:
    run("message", "create", "acme", "x", "--at", "2030-01-31T08:00:00+01:00", dsn=dsn_18)
    run("message", "create", "acme", "y", "--at=-5", dsn=dsn_18)
    assert [each.dequeue_at for each in queue.peek("acme")] == [-5, 1_896_073_200_000]
    wrong = run("message", "create", "acme", "x", "--at", "2030-01-31 08:00", dsn=dsn_18)
    assert wrong.code == 2
    assert "is not a time" in wrong.err


def test_the_content_may_be_a_file_or_standard_input(
    queue: lonnymq.Queue, dsn_18: str, tmp_path: Path
) -> None:
    (tmp_path / "video").write_bytes(b"\x00\xff\n")
    assert run("message", "create", "acme", "--file", tmp_path / "video", dsn=dsn_18).code == 0
    assert run("message", "create", "acme", "-f", "-", stdin=b"from a pipe\n", dsn=dsn_18).code == 0
    assert contents(queue, "acme") == [b"\x00\xff\n", b"from a pipe\n"]
    missing = run("message", "create", "acme", "--file", tmp_path / "absent", dsn=dsn_18)
    assert (missing.code, "absent cannot be read: No such file" in missing.err) == (2, True)


def test_an_argument_that_is_no_text_is_taken_as_it_is(queue: lonnymq.Queue, dsn_18: str) -> None:
    command = [os.fsencode(each) for each in (*PROGRAM, "message", "create", "acme")]
    ran = subprocess.run([*command, b"\xff\xfe"], env=environment(dsn_18), capture_output=True)
    assert (ran.returncode, contents(queue, "acme")) == (0, [b"\xff\xfe"])
    wrong = subprocess.run(
        [*command[:-1], b"\xff", b"x"], env=environment(dsn_18), capture_output=True
    )
    assert wrong.returncode == 2
    assert b"Channel must be Unicode without lone surrogates" in wrong.stderr


def test_each_line_may_be_a_message(queue: lonnymq.Queue, dsn_18: str, tmp_path: Path) -> None:
    file = tmp_path / "lines"
    file.write_text("".join(f"line {number}\n" for number in range(2_500)) + "\n  \nlast")
    ran = run("message", "create", "acme", "--lines", file, "--kind", "k", dsn=dsn_18)
    assert (ran.code, ran.out) == (0, "2,501 created\n")
    assert contents(queue, "acme")[0] == b"line 0"
    assert contents(queue, "acme")[-1] == b"last"
    assert {each.kind for each in queue.peek("acme")} == {"k"}


def test_a_key_that_is_taken_gives_the_message_the_new_content(dsn_18) -> None:
    create = (
        "message",
        "create",
        "acme",
        "--key",
        "k",
        "--when-duplicate",
        "postpone",
        "--max-delay",
        "1h",
    )
    more = ("--delay", "60s", "--priority", "5", "--max-attempts", "2", "--unique-for", "1h")
    run(*create, *more, "first", dsn=dsn_18)
    ran = run(*create, *more, "second", "--json", dsn=dsn_18)
    assert ran.json["answer"] == "postponed"


def test_each_line_may_be_an_object_that_says_all(queue: lonnymq.Queue, dsn_18: str) -> None:
    lines = [
        {"channel": "acme", "content": "text", "kind": "a", "headers": {"x": 1}},
        {"content": {"as": "json"}, "delay_ms": 0},
        {"content_base64": "/wA=", "key": "n", "dequeue_at": -3},
    ]
    text = "\n".join(json.dumps(each) for each in lines)
    ran = run("message", "create", "bloom", "--jsonl", "-", "--json", stdin=text, dsn=dsn_18)
    others = ("duplicate", "replaced", "postponed", "dropped", "rejected")
    assert ran.json == {"created": 3, **dict.fromkeys(others, 0)}
    assert contents(queue, "acme") == [b"text"]
    assert contents(queue, "bloom") == [b"\xff\x00", b'{"as": "json"}']


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "Line 2 is not JSON"),
        ("[]", "Line 2 is not a JSON object"),
        ('{"content": "x", "colour": 1}', "Line 2 has unknown fields: colour"),
        ("{}", "Line 2 has no content"),
        ('{"content_base64": "!"}', "Line 2 has a content_base64 that is not base64"),
        ('{"content": "x"}', "Line 2 names no channel"),
    ],
)
def test_a_line_that_makes_no_sense_is_named(dsn_18: str, line: str, words: str) -> None:
    first = '{"content": "fine", "channel": "acme"}'
    ran = run("message", "create", "--jsonl", "-", stdin=f"{first}\n{line}\n", dsn=dsn_18)
    assert ran.code == 2
    assert words in ran.err


def test_what_a_full_channel_refuses_is_counted(queue: lonnymq.Queue, dsn_18: str) -> None:
    queue.channel("acme").set(max_size=2)
    ran = run("message", "create", "acme", "--lines", "-", stdin="1\n2\n3\n", dsn=dsn_18)
    assert (ran.code, ran.out) == (1, "2 created, 1 rejected\n")
    one = run("message", "create", "acme", "4", dsn=dsn_18)
    assert (one.code, one.err) == (1, "lonnymq: Channel 'acme' is full: 2 of 2.\n")


@pytest.mark.parametrize(
    "wrong", [("acme",), (), ("acme", "x", "--file", "y"), ("acme", "x", "--headers", "{")]
)
def test_a_create_that_is_not_clear_is_a_matter_of_usage(dsn_18: str, wrong: tuple[str]) -> None:
    assert run("message", "create", *wrong, dsn=dsn_18).code == 2


def test_messages_are_looked_at_and_not_taken(queue: lonnymq.Queue, dsn_18: str) -> None:
    queue.channel("acme").create(b"text", kind="k", key="n")
    queue.channel("acme").create(b"\xff\xfe")
    found = run("message", "peek", "acme", "--json", dsn=dsn_18).json["messages"]
    assert (found[0]["content"], found[0]["content_base64"]) == ("text", None)
    assert (found[1]["content"], found[1]["content_base64"]) == (None, "//4=")
    assert "state_base64" in found[0]
    people = run("message", "peek", "acme", dsn=dsn_18).out
    assert "text" in people
    assert "0xfffe" in people
    assert len(queue.dequeue(limit=5)) == 2


def test_the_status_and_the_result_of_messages_are_shown(queue: lonnymq.Queue, dsn_18: str) -> None:
    done, waiting = (message_id(queue.create("acme", b"x")) for _ in range(2))
    queue.dequeue()[0].complete(result=b"42 frames")
    shown = run("message", "status", done, waiting, dsn=dsn_18).out
    assert "completed" in shown
    assert "waiting" in shown
    document = run("message", "status", done, "--json", dsn=dsn_18).json
    assert document["messages"][0]["result_size"] == 9
    assert run("message", "result", done, dsn=dsn_18).out == "42 frames"
    assert run("message", "result", done, "--json", dsn=dsn_18).json["id"] == done
    missing = run("message", "result", waiting, dsn=dsn_18)
    assert (missing.code, "its state is waiting" in missing.err) == (1, True)


def test_a_message_is_explained(queue: lonnymq.Queue, dsn_18: str) -> None:
    created = message_id(queue.channel("acme").create(b"x", delay_ms=3_600_000))
    assert "The message is scheduled for" in run("message", "explain", created, dsn=dsn_18).out
    document = run("message", "explain", created, "--json", dsn=dsn_18).json
    assert (document["answer"], document["fields"]["channel"]) == ("scheduled", "acme")
    missing = run("message", "explain", 999, dsn=dsn_18)
    assert (missing.code, missing.err.startswith("lonnymq: There is no message 999")) == (1, True)


def test_messages_are_cancelled_after_a_yes_and_the_others_are_named(
    queue: lonnymq.Queue, dsn_18: str
) -> None:
    first, second = map(message_id, queue.channel("acme").create_many([b"1", b"2"]))
    queue.dequeue()
    ids = [first, second, 999]
    rejected = run("message", "cancel", *ids, dsn=dsn_18)
    assert "This will permanently delete 3 messages, running messages too." in rejected.err
    assert len(contents(queue, "acme")) == 2
    ran = run("message", "cancel", *ids, "--yes", "--json", dsn=dsn_18)
    assert [each["answer"] for each in ran.json["messages"]] == [
        "cancelled",
        "cancelled",
        "not_found",
    ]
    assert ran.code == 1
    assert "999: there is no live message with this id" in ran.err


def test_a_channel_is_purged_in_chunks_and_what_runs_stays(
    queue: lonnymq.Queue, dsn_18: str
) -> None:
    queue.channel("acme").copy([b"x"] * 12_000)
    queue.dequeue()
    asked = run("message", "purge", "acme", dsn=dsn_18)
    assert asked.code == 1
    assert (
        "This will permanently delete 9,999 waiting messages or more of channel 'acme'" in asked.err
    )
    ran = run("message", "purge", "acme", "--yes", "--json", dsn=dsn_18)
    assert ran.json == {"channel": "acme", "deleted": 11_999}
    assert len(contents(queue, "acme")) == 1


def test_a_wait_ends_with_the_messages_or_when_the_time_is_up(
    queue: lonnymq.Queue, dsn_18: str
) -> None:
    done, other = (message_id(queue.create("acme", b"x")) for _ in range(2))
    queue.dequeue()[0].complete()
    document = run("message", "wait", done, "--json", dsn=dsn_18).json
    assert [each["state"] for each in document["messages"]] == ["completed"]
    late = run("message", "wait", done, other, "--timeout", "10ms", dsn=dsn_18)
    assert late.code == 1
    assert f"message {other} has not ended within 0.01 s: the state is waiting" in late.err

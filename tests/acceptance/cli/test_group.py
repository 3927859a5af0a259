"""`lonnymq group` and `lonnymq message create --group`."""

import pytest

import lonnymq
from commands import run


@pytest.fixture
def queue(dsn_18: str):
    with lonnymq.Queue(dsn_18) as queue:
        yield queue


def test_a_group_is_created_filled_sealed_and_shown(queue: lonnymq.Queue, dsn_18: str) -> None:
    group = run("group", "create", "done", "all", "--kind", "report", "--json", dsn=dsn_18).json[
        "id"
    ]
    run("message", "create", "acme", "x", "--group", group, dsn=dsn_18)
    assert run("group", "seal", group, dsn=dsn_18).out.strip() == "sealed"
    assert run("group", "status", group, "--json", dsn=dsn_18).json["remaining"] == 1
    [message] = queue.dequeue()
    explained = run("message", "explain", message.id, dsn=dsn_18).out
    assert f"The message is in group {group}." in " ".join(explained.split())
    message.complete()
    shown = run("group", "status", group, dsn=dsn_18).out
    assert "ended" in shown
    [callback] = queue.dequeue()
    assert (callback.kind, callback.content) == ("report", b"all")


def test_an_unknown_group_is_an_error(queue: lonnymq.Queue, dsn_18: str) -> None:
    for word in ("seal", "status"):
        failed = run("group", word, 999, dsn=dsn_18)
        assert (failed.code, "There is no group 999." in failed.err) == (1, True)
    late = run("message", "create", "acme", "x", "--group", 999, dsn=dsn_18)
    assert "Group 999 does not exist or has ended" in late.err

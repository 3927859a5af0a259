"""Before something is deleted the command says what it will do, and asks whoever sits at the terminal."""

from pathlib import Path

import pytest

import lonnymq
from commands import process, terminal

DESTRUCTIVE = [
    ("message", "purge", "acme"),
    ("message", "cancel", "1"),
    ("channel", "retire", "acme"),
    ("dead", "purge", "--all"),
    ("dead", "redrive", "--all"),
    ("doctor", "--repair"),
    ("schedule", "delete", "nightly"),
]


@pytest.fixture
def queue(dsn_18: str):
    with lonnymq.Queue(dsn_18) as queue:
        queue.channel("acme").create_many([b"1", b"2", b"3"])
        yield queue


def test_a_no_leaves_everything_as_it_was(queue: lonnymq.Queue, dsn_18: str) -> None:
    with terminal("message", "purge", "acme", dsn=dsn_18, columns=160) as shown:
        shown.sees(
            "This will permanently delete 3 waiting messages of channel 'acme'. Continue? [y/N]"
        )
        shown.send("n\n")
        assert shown.ends() == 1
        shown.sees("Nothing was done.")
    assert len(queue.peek("acme")) == 3


def test_a_yes_lets_it_go_on(queue: lonnymq.Queue, dsn_18: str) -> None:
    with terminal("message", "purge", "acme", dsn=dsn_18, columns=160) as shown:
        shown.sees("Continue?")
        shown.send("y\n")
        assert shown.ends() == 0
        shown.sees("deleted: 3 messages of acme")
    assert queue.peek("acme") == []


@pytest.mark.long
def test_what_takes_long_shows_how_far_it_is(
    queue: lonnymq.Queue, dsn_18: str, tmp_path: Path
) -> None:
    (tmp_path / "lines").write_text("job\n" * 30_000)
    lines = ("message", "create", "acme", "--lines", tmp_path / "lines")
    for command, words in (
        (lines, ["creating", "120.0 kB", "30,000 created"]),
        (("message", "purge", "acme", "--yes"), ["deleting", "deleted: 30,003 messages of acme"]),
        (("doctor", "--stuck-after", "1h"), ["checking", "durability"]),
    ):
        with terminal(*command, dsn=dsn_18, columns=160) as shown:
            for each in words:
                shown.sees(each)
            shown.ends()


@pytest.mark.parametrize("command", DESTRUCTIVE, ids=" ".join)
def test_without_a_terminal_and_without_a_yes_nothing_is_done(
    queue: lonnymq.Queue, dsn_18: str, command: tuple[str, ...]
) -> None:
    ran = process(*command, dsn=dsn_18)
    assert ran.code == 1
    assert ran.err.startswith("lonnymq: This will ")
    assert ran.err.endswith(
        "Nothing was done, because there is no terminal to ask you. Add --yes to confirm.\n"
    )
    assert len(queue.peek("acme")) == 3

"""The live screen: its order, its pages, and the columns that there is room for."""

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from lonnymq.cli.snapshot import Look, Looker
from lonnymq.cli.output.channel_screen import SORTS, View, columns_for, ordered, screen
from lonnymq.cli.output.channel_text import limits, why
from lonnymq.results import ChannelActivity, QueueStats, WorkerSeen

NOW = 1_900_000_000_000
STATS = QueueStats(
    channels=3, ready=1, waiting=1200, leased=2, dead=1, notes=0, in_flight=2, max_concurrency=8,
    history="outcomes", history_keep_ms=None, oldest_ready_at=None, next_at=None, now_at=NOW,
    estimated=False,
)  # fmt: skip
ACME = ChannelActivity(
    channel="acme", state="saturated", waiting=7, scheduled=0, leased=4, counted_exactly=True,
    waiting_since=NOW - 5_000, next_at=None, in_flight=4, finished=25, finished_ms=10_000,
    max_concurrency=4, min_interval_ms=None, burst=1, max_size=None, weight=1, paused=False,
    retiring=False, now_at=NOW,
)  # fmt: skip
BLOOM = replace(ACME, channel="bloom", state="ready", waiting=1000, counted_exactly=False,
    in_flight=0, finished=0, max_concurrency=None, waiting_since=NOW - 60_000)  # fmt: skip
CEDAR = replace(ACME, channel="cedar", state="throttled", waiting=1, in_flight=1, finished=100,
    max_concurrency=None, min_interval_ms=500, burst=3, next_at=NOW + 250)  # fmt: skip
LOOK = Look(STATS, [CEDAR, ACME, BLOOM], [])


def drawn(look: Look, view: View) -> str:
    console = Console(width=view.width, record=True, file=StringIO())
    console.print(screen(look, view, title="a queue", foot="keys"))
    return console.export_text()


@pytest.mark.parametrize(
    ("sort", "names"),
    [
        ("waiting", ["bloom", "acme", "cedar"]),
        ("running", ["acme", "cedar", "bloom"]),
        ("rate", ["cedar", "acme", "bloom"]),
        ("oldest", ["bloom", "acme", "cedar"]),
        ("state", ["cedar", "acme", "bloom"]),
        ("name", ["acme", "bloom", "cedar"]),
    ],
)
def test_channels_are_put_in_order(sort, names: list[str]) -> None:
    assert [each.channel for each in ordered(LOOK.channels, View(sort=sort))] == names
    backwards = ordered(LOOK.channels, View(sort=sort, reverse=True))
    assert [each.channel for each in backwards] == names[::-1]


def test_every_order_is_known() -> None:
    assert len(SORTS) == 6


@pytest.mark.parametrize("width", range(24, 200, 8))
def test_no_line_is_wider_than_the_terminal_and_the_counts_are_never_cut(width: int) -> None:
    text = drawn(LOOK, View(width=width))
    assert max(map(len, text.splitlines())) <= width
    if width >= 40:
        assert "1,000+" in text


def test_wide_terminals_show_more() -> None:
    widths = [40, 60, 70, 100, 140]
    assert [len(columns_for(width)) for width in widths] == [3, 4, 6, 7, 9]


def test_pages_go_round() -> None:
    assert "page 2 of 3" in drawn(LOOK, View(rows=1, page=1))
    assert "page 1 of 3" in drawn(LOOK, View(rows=1, page=3))
    assert "page 3 of 3" in drawn(LOOK, View(rows=1, page=-1))


def test_the_head_sums_up() -> None:
    worker = WorkerSeen("w", True, False, 8, 2, NOW, NOW, {}, NOW)
    text = drawn(replace_workers([worker]), View(width=200))
    assert "1,200 waiting · 2 of 8 running · 1 dead · 3 channels, 1 ready" in text
    assert "12 a second · 1 worker" in text
    idle = Look(replace(STATS, in_flight=0), [], [])
    assert "No worker is running." in drawn(idle, View())
    assert "Nothing goes on in any channel." in drawn(idle, View())


def replace_workers(workers: list[WorkerSeen]) -> Look:
    return Look(STATS, LOOK.channels, workers)


def test_without_history_there_is_no_rate() -> None:
    unknown = Look(replace(STATS, history="off"), [replace(ACME, finished=None)], [])
    assert unknown.rate is None
    assert "- a second" in drawn(unknown, View())


@pytest.mark.parametrize(
    ("channel", "words"),
    [
        (ACME, "4 of 4 are running"),
        (BLOOM, ""),
        (CEDAR, "next in 250 ms, 1 each 500 ms, 3 in a burst"),
        (replace(ACME, state="paused"), "paused by hand"),
        (replace(ACME, state="scheduled", next_at=NOW + 90_000), "first is due in 1 min 30 s"),
        (replace(ACME, state="retiring", retiring=True), "being released"),
        (replace(ACME, retiring=True), "4 of 4 are running (being released)"),
    ],
)
def test_why_a_channel_is_held_back_is_said_in_words(channel, words: str) -> None:
    assert why(channel, NOW) == words


def test_limits_are_said_in_words() -> None:
    assert limits(BLOOM) == ""
    all_of_them = replace(CEDAR, max_concurrency=4, max_size=1000, weight=3)
    assert limits(all_of_them) == "4 at once, 1 each 500 ms, 3 in a burst, 1,000 live, weight 3"


class Counting:
    """A queue that counts how often it is counted."""

    asked = 0

    def stats(self) -> QueueStats:
        self.asked += 1
        return STATS

    def channel_active(self, *_: object, **__: object) -> list[ChannelActivity]:
        return []

    def worker_list(self, **_: object) -> list[WorkerSeen]:
        return []


def test_the_whole_queue_is_counted_again_only_when_that_is_paid_for(monkeypatch) -> None:
    now = [0.0]
    monkeypatch.setattr("lonnymq.cli.snapshot.time.monotonic", lambda: now[0])
    queue = Counting()

    def slow() -> QueueStats:
        now[0] += 0.1  # it takes 100 ms
        return Counting.stats(queue)

    queue.stats = slow  # type: ignore[method-assign]
    looker = Looker(queue, None)  # type: ignore[arg-type]
    looker.look()
    now[0] += 1.9
    looker.look()
    assert queue.asked == 1
    now[0] += 0.2
    looker.look()
    assert queue.asked == 2

"""The live screen: its order, its pages, and the columns that there is room for."""

from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from lonnymq.cli.channel_screen import (
    SORTS,
    Snapshot,
    SnapshotReader,
    View,
    choose_columns,
    format_limits,
    format_reason,
    render_screen,
    sort_channels,
)
from lonnymq.results import ChannelActivity, QueueStats, WorkerSeen

NOW = 1_900_000_000_000
STATS = QueueStats(
    channels=3, ready=1, waiting=1200, leased=2, dead=1, notes=0, in_flight=2, max_concurrency=8,
    history="outcomes", history_keep_ms=None, oldest_ready_at=None, next_at=None, now_at=NOW,
    estimated=False,
)  # fmt: skip
ACME = ChannelActivity(
    channel="acme", state="saturated", waiting=7, scheduled=0, leased=4, counted_exactly=True,
    waiting_since=NOW - 5_000, next_at=None, in_flight=4, finished=30, completed=25,
    ended=130, finished_ms=10_000, recent_completed=25, recent_failed=5,
    max_concurrency=4, min_interval_ms=None, burst=1, max_size=None, weight=1, paused=False,
    retiring=False, now_at=NOW,
)  # fmt: skip
BLOOM = replace(ACME, channel="bloom", state="ready", waiting=1000, counted_exactly=False,
    in_flight=0, completed=0, max_concurrency=None, waiting_since=NOW - 60_000)  # fmt: skip
CEDAR = replace(ACME, channel="cedar", state="throttled", waiting=1, in_flight=1, completed=100,
    max_concurrency=None, min_interval_ms=500, burst=3, next_at=NOW + 250)  # fmt: skip
SNAPSHOT = Snapshot(STATS, [CEDAR, ACME, BLOOM], [])


def drawn(snapshot: Snapshot, view: View) -> str:
    console = Console(width=view.width, record=True, file=StringIO())
    console.print(render_screen(snapshot, view, title="a queue", footer="keys"))
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
    assert [each.channel for each in sort_channels(SNAPSHOT.channels, View(sort=sort))] == names
    backwards = sort_channels(SNAPSHOT.channels, View(sort=sort, reverse=True))
    assert [each.channel for each in backwards] == names[::-1]


def test_every_order_is_known() -> None:
    assert len(SORTS) == 6


@pytest.mark.parametrize("width", range(24, 200, 8))
def test_no_line_is_wider_than_the_terminal_and_the_counts_are_never_cut(width: int) -> None:
    text = drawn(SNAPSHOT, View(width=width))
    assert max(map(len, text.splitlines())) <= width
    if width >= 40:
        assert "1,000+" in text


def test_wide_terminals_show_more() -> None:
    widths = [40, 60, 70, 100, 140]
    assert [len(choose_columns(width)) for width in widths] == [3, 4, 6, 7, 9]


def test_pages_go_round() -> None:
    assert "page 2 of 3" in drawn(SNAPSHOT, View(rows=1, page=1))
    assert "page 1 of 3" in drawn(SNAPSHOT, View(rows=1, page=3))
    assert "page 3 of 3" in drawn(SNAPSHOT, View(rows=1, page=-1))


def test_the_head_sums_up() -> None:
    worker = WorkerSeen("w", True, False, 8, 2, NOW, NOW, {}, NOW)
    text = drawn(replace_workers([worker]), View(width=200))
    assert "1,200 waiting · 2 of 8 running · 1 dead · 3 channels, 1 ready" in text
    assert "12 per second · 1 worker" in text
    idle = Snapshot(replace(STATS, in_flight=0), [], [])
    assert "No worker is running." in drawn(idle, View())
    assert "No active channels." in drawn(idle, View())


def replace_workers(workers: list[WorkerSeen]) -> Snapshot:
    return Snapshot(STATS, SNAPSHOT.channels, workers)


def test_without_history_there_is_no_rate() -> None:
    unknown = Snapshot(replace(STATS, history="off"), [replace(ACME, finished=None)], [])
    assert unknown.rate is None
    assert "- per second" in drawn(unknown, View())


@pytest.mark.parametrize(
    ("channel", "words"),
    [
        (ACME, "4 of 4 running"),
        (BLOOM, ""),
        (CEDAR, "next in 250 ms, 1 per 500 ms, 3 in a burst"),
        (replace(ACME, state="paused"), "paused"),
        (replace(ACME, state="scheduled", next_at=NOW + 90_000), "first due in 1 min 30 s"),
        (replace(ACME, state="retiring", retiring=True), "retiring"),
        (replace(ACME, retiring=True), "4 of 4 running (retiring)"),
    ],
)
def test_why_a_channel_is_held_back_is_said_in_words(channel, words: str) -> None:
    assert format_reason(channel, NOW) == words


def test_limits_are_said_in_words() -> None:
    assert format_limits(BLOOM) == ""
    all_of_them = replace(CEDAR, max_concurrency=4, max_size=1000, weight=3)
    assert (
        format_limits(all_of_them) == "4 at once, 1 per 500 ms, 3 in a burst, 1,000 live, weight 3"
    )


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
    monkeypatch.setattr("lonnymq.cli.channel_screen.time.monotonic", lambda: now[0])
    queue: Any = Counting()

    def slow() -> QueueStats:
        now[0] += 0.1  # it takes 100 ms
        return Counting.stats(queue)

    queue.stats = slow
    reader = SnapshotReader(queue, None)
    reader.read()
    now[0] += 1.9
    reader.read()
    assert queue.asked == 1
    now[0] += 0.2
    reader.read()
    assert queue.asked == 2

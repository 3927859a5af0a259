"""The state of the queue for `status` and `watch`, and a table of its active channels that fits the terminal."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from lonnymq.cli.output import format_number, make_table, to_cell
from lonnymq.text import NOTHING, format_count, format_duration

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

    from lonnymq.client import Queue
    from lonnymq.results import ChannelActivity, ChannelStats, QueueStats, WorkerSeen

    AnyChannel = ChannelStats | ChannelActivity

MAX_LOAD = 0.05  # share of the time spent on counting the whole queue
PAUSE_FACTOR = 10  # the pause after a snapshot, in multiples of its duration
MAX_COUNT = 1_000  # messages counted per channel
Sort = Literal["waiting", "running", "rate", "oldest", "state", "name"]
SORTS: tuple[Sort, ...] = ("waiting", "running", "rate", "oldest", "state", "name")
STATES = ("paused", "throttled", "saturated", "retiring", "ready", "scheduled", "idle")
STATE_COLORS = {
    "ready": "green", "saturated": "yellow", "throttled": "magenta", "paused": "red",
    "retiring": "red", "scheduled": "cyan", "idle": "dim",
}  # fmt: skip
TABLE_LINES, FOOTER_LINES = 4, 1
COLUMN_WIDTHS = {"waiting": 7, "later": 6, "running": 7, "rate/s": 6, "oldest": 6, "state": 9}
TEXT_COLUMNS = ("channel", "state", "limits", "reason")
COLUMN_SETS = (
    (44, "channel waiting state"),
    (68, "channel waiting running state"),
    (90, "channel waiting running rate/s oldest state"),
    (118, "channel waiting running rate/s oldest state reason"),
)  # below a width of the terminal; a wider terminal has all columns
COLUMN_GAP, MIN_WIDTH = 3, 4


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The queue at one time: its totals, the active channels and the workers."""

    stats: QueueStats
    channels: list[ChannelActivity]
    workers: list[WorkerSeen]

    @property
    def now_at(self) -> int:
        """The database's time of the snapshot."""
        return max((each.now_at for each in self.channels), default=self.stats.now_at)

    @property
    def rate(self) -> float | None:
        """Finished attempts per second in the last seconds, or None without history."""
        if self.stats.history == "off":
            return None
        return sum(channel_rate(each) or 0.0 for each in self.channels)


def channel_rate(channel: ChannelActivity) -> float | None:
    """Finished attempts of a channel per second; None without history."""
    if channel.completed is None:
        return None
    return channel.completed * 1_000 / channel.finished_ms


class SnapshotReader:
    """Reads snapshots. The totals are cached so that counting stays cheap; `pause` is the advised wait in seconds."""

    def __init__(self, queue: Queue, channels: list[str] | None, *, limit: int = 100) -> None:
        self.queue, self.channels, self.limit = queue, channels or None, limit
        self.stats: QueueStats | None = None
        self.stats_due = 0.0
        self.pause = 0.0

    def read(self) -> Snapshot:
        """Read a snapshot now."""
        started = time.monotonic()
        try:
            active = self.queue.channel_active(self.channels, limit=self.limit, count=MAX_COUNT)
            return Snapshot(self.read_stats(), active, self.queue.worker_list(limit=1_000))
        finally:
            self.pause = PAUSE_FACTOR * (time.monotonic() - started)

    def read_stats(self) -> QueueStats:
        """The totals of the whole queue, counted now or cached."""
        started = time.monotonic()
        if self.stats is None or started >= self.stats_due:
            self.stats = self.queue.stats()
            ended = time.monotonic()
            self.stats_due = ended + (ended - started) / MAX_LOAD
        return self.stats


@dataclass(frozen=True, slots=True)
class View:
    """The order, the page and the size of the table."""

    sort: Sort = "waiting"
    reverse: bool = False
    page: int = 0
    rows: int = 20
    width: int = 100


def oldest_wait(channel: ChannelActivity) -> int | None:
    """How long the first waiting message has waited, in milliseconds."""
    since = channel.waiting_since
    return None if since is None else max(0, channel.now_at - since)


SORT_KEYS: dict[Sort, Callable[[ChannelActivity], tuple[float, float]]] = {
    "waiting": lambda each: (-each.waiting, -(oldest_wait(each) or 0)),
    "running": lambda each: (-each.in_flight, -each.waiting),
    "rate": lambda each: (-(channel_rate(each) or 0), -each.waiting),
    "oldest": lambda each: (-(oldest_wait(each) or -1), -each.waiting),
    "state": lambda each: (STATES.index(each.state), -each.waiting),
    "name": lambda each: (0, 0),
}


def sort_channels(channels: list[ChannelActivity], view: View) -> list[ChannelActivity]:
    """The channels in the order of the view, and then by name."""
    by_name = sorted(channels, key=lambda each: each.channel)
    found = sorted(by_name, key=SORT_KEYS[view.sort])
    return found[::-1] if view.reverse else found


def count_pages(snapshot: Snapshot, view: View) -> int:
    """The number of pages."""
    return max(1, -(-len(snapshot.channels) // view.rows))


def render_screen(
    snapshot: Snapshot, view: View, *, title: str, footer: str | None = None
) -> RenderableType:
    """The whole screen."""
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = [render_header(snapshot, title), render_channels(snapshot, view)]
    if footer is not None:
        pages = count_pages(snapshot, view)
        text = f"page {view.page % pages + 1} of {pages}, by {view.sort}   {footer}"
        parts.append(Text(text, style="dim", no_wrap=True, overflow="ellipsis"))
    return Group(*parts)


def render_header(snapshot: Snapshot, title: str) -> Text:
    """The totals of the whole queue."""
    from rich.text import Text

    stats, alive = snapshot.stats, [each for each in snapshot.workers if each.alive]
    about = "about " if stats.estimated else ""
    most = f" of {stats.max_concurrency:,}" if stats.max_concurrency else ""
    figures = [
        f"{about}{stats.waiting:,} waiting",
        f"{stats.in_flight:,}{most} running",
        f"{stats.dead:,} dead",
        f"{about}{stats.channels:,} channels, {stats.ready:,} ready",
        f"{format_rate(snapshot.rate)} per second",
        format_count(len(alive), "worker"),
    ]
    text = Text(title, style="bold")
    text.append("\n" + " · ".join(figures), style="not bold")
    if not alive and stats.ready and not stats.in_flight:
        text.append("\nNo worker is running.", style="yellow not bold")
    return text


def format_rate(value: float | None) -> str:
    """A rate, with a decimal below 10."""
    if value is None:
        return NOTHING
    return f"{value:,.0f}" if value >= 10 or value == 0 else f"{value:.1f}"


def render_channels(snapshot: Snapshot, view: View) -> RenderableType:
    """A page of channels, with the columns that fit."""
    from rich.text import Text

    found = sort_channels(snapshot.channels, view)
    start = view.page % count_pages(snapshot, view) * view.rows
    if not found:
        return Text("\nNo active channels.\n", style="dim")
    columns = choose_columns(view.width)
    lines = [[COLUMNS[name](each) for name in columns] for each in found[start : start + view.rows]]
    needs = [max(line[index].cell_len for line in lines) for index in range(len(columns))]
    widths = compute_widths(dict(zip(columns, needs, strict=True)), view.width)
    names = (name if name in TEXT_COLUMNS else f">{name}" for name in columns)
    return make_table(*names, rows=lines, widths=widths)


def compute_widths(needs: dict[str, int], width: int) -> dict[str, int]:
    """The width of each column: numbers always fit, and the text columns share the rest."""
    fixed = {name: max(COLUMN_WIDTHS[name], needs[name]) for name in needs if name in COLUMN_WIDTHS}
    left = width - sum(fixed.values()) - COLUMN_GAP * (len(needs) - 1) - 2
    found = dict(fixed)
    for name in ("channel", "limits", "reason"):
        if name in needs:
            share = left if name == "reason" or len(needs) == len(fixed) + 1 else left * 2 // 5
            found[name] = max(MIN_WIDTH, min(max(needs[name], len(name)), share))
            left -= found[name]
    return found


def choose_columns(width: int) -> list[str]:
    """The columns for a width of the terminal."""
    fitting = (names.split() for below, names in COLUMN_SETS if width < below)
    return next(fitting, list(COLUMNS))


def format_state(channel: ChannelActivity) -> Text:
    """The state in its color."""
    from rich.text import Text

    return Text(channel.state, style=STATE_COLORS.get(channel.state, ""))


def format_limits(channel: AnyChannel) -> str:
    """The limits of a channel in a few words, '' without limits."""
    limits = {
        f"{format_number(channel.max_concurrency)} at once": channel.max_concurrency,
        format_rate_limit(channel): channel.min_interval_ms,
        f"{format_number(channel.max_size)} live": channel.max_size,
        f"weight {channel.weight}": channel.weight != 1,
    }
    return ", ".join(text for text, is_set in limits.items() if is_set)


def format_rate_limit(channel: AnyChannel) -> str:
    """The rate limit: the interval, and the burst if there is one."""
    burst = f", {channel.burst} in a burst" if (channel.burst or 1) > 1 else ""
    return f"1 per {format_duration(channel.min_interval_ms)}{burst}"


def format_reason(channel: AnyChannel, now: int) -> str:
    """Why workers get no message of a channel at this time; '' if they do or if the channel is empty."""
    match channel.state:
        case "saturated":
            reason = f"{channel.in_flight} of {channel.max_concurrency} running"
        case "throttled":
            wait = max(0, (channel.next_at or now) - now)
            reason = f"next in {format_duration(wait)}, {format_rate_limit(channel)}"
        case "paused":
            reason = "paused"
        case "scheduled" if channel.next_at is not None:
            reason = f"first due in {format_duration(max(0, channel.next_at - now))}"
        case "retiring":
            return "retiring"
        case _:
            reason = ""
    return (reason + (" (retiring)" if channel.retiring else "")).strip()


COLUMNS: dict[str, Callable[[ChannelActivity], Text]] = {
    "channel": lambda each: to_cell(each.channel),
    "waiting": lambda each: to_cell(format_number(each.waiting, exact=each.counted_exactly)),
    "later": lambda each: to_cell(each.scheduled),
    "running": lambda each: to_cell(
        f"{each.in_flight:,}" + (f"/{each.max_concurrency:,}" if each.max_concurrency else "")
    ),
    "rate/s": lambda each: to_cell(format_rate(channel_rate(each))),
    "oldest": lambda each: to_cell(format_duration(oldest_wait(each))),
    "limits": lambda each: to_cell(format_limits(each)),
    "state": format_state,
    "reason": lambda each: to_cell(format_reason(each, each.now_at)),
}

"""The screen of `watch` and the channels of `status`: a header, and a table of channels that fits the terminal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from lonnymq.cli.output.formatting import format_limits, format_number, format_reason, to_cell
from lonnymq.cli.snapshot import Snapshot, channel_rate
from lonnymq.text import NOTHING, format_count, format_duration

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

    from lonnymq.results import ChannelActivity

Sort = Literal["waiting", "running", "rate", "oldest", "state", "name"]
SORTS: tuple[Sort, ...] = ("waiting", "running", "rate", "oldest", "state", "name")
STATES = ("paused", "throttled", "saturated", "retiring", "ready", "scheduled", "idle")
STATE_COLORS = {
    "ready": "green", "saturated": "yellow", "throttled": "magenta", "paused": "red",
    "retiring": "red", "scheduled": "cyan", "idle": "dim",
}  # fmt: skip
TABLE_LINES, FOOTER_LINES = 4, 1
COLUMN_WIDTHS = {"waiting": 7, "later": 6, "running": 7, "rate/s": 6, "oldest": 6, "state": 9}
COLUMN_GAP, MIN_WIDTH = 3, 4


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
    table = create_table(columns, widths)
    for line in lines:
        table.add_row(*line)
    return table


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


def create_table(columns: list[str], widths: dict[str, int]) -> Table:
    """An empty table with columns of these widths."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, expand=False)
    for name in columns:
        is_text = name in ("channel", "state", "limits", "reason")
        justify: Literal["left", "right"] = "left" if is_text else "right"
        table.add_column(
            name, justify=justify, no_wrap=True, overflow="ellipsis", width=widths[name]
        )
    return table


def choose_columns(width: int) -> list[str]:
    """The columns for a width of the terminal."""
    if width < 44:
        return ["channel", "waiting", "state"]
    if width < 68:
        return ["channel", "waiting", "running", "state"]
    if width < 90:
        return ["channel", "waiting", "running", "rate/s", "oldest", "state"]
    if width < 118:
        return ["channel", "waiting", "running", "rate/s", "oldest", "state", "reason"]
    return [
        "channel",
        "waiting",
        "later",
        "running",
        "rate/s",
        "oldest",
        "limits",
        "state",
        "reason",
    ]


def format_running(channel: ChannelActivity) -> str:
    """The number of running messages and its limit."""
    most = channel.max_concurrency
    return f"{channel.in_flight:,}" + (f"/{most:,}" if most else "")


def format_state(channel: ChannelActivity) -> Text:
    """The state in its color."""
    from rich.text import Text

    return Text(channel.state, style=STATE_COLORS.get(channel.state, ""))


COLUMNS: dict[str, Callable[[ChannelActivity], Text]] = {
    "channel": lambda each: to_cell(each.channel),
    "waiting": lambda each: to_cell(format_number(each.waiting, exact=each.counted_exactly)),
    "later": lambda each: to_cell(each.scheduled),
    "running": lambda each: to_cell(format_running(each)),
    "rate/s": lambda each: to_cell(format_rate(channel_rate(each))),
    "oldest": lambda each: to_cell(format_duration(oldest_wait(each))),
    "limits": lambda each: to_cell(format_limits(each)),
    "state": format_state,
    "reason": lambda each: to_cell(format_reason(each, each.now_at)),
}

"""What `lonnymq watch` and `lonnymq status` show: a head, and a table of channels that fits the terminal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from lonnymq.cli.snapshot import Look, rate
from lonnymq.cli.output.channel_text import limits, why
from lonnymq.cli.output.formatting import NOTHING, counted, number, plain
from lonnymq.text import format_duration

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

    from lonnymq.results import ChannelActivity

Sort = Literal["waiting", "running", "rate", "oldest", "state", "name"]
SORTS: tuple[Sort, ...] = ("waiting", "running", "rate", "oldest", "state", "name")
STATES = ("paused", "throttled", "saturated", "retiring", "ready", "scheduled", "idle")
COLOURS = {
    "ready": "green", "saturated": "yellow", "throttled": "magenta", "paused": "red",
    "retiring": "red", "scheduled": "cyan", "idle": "dim",
}  # fmt: skip
TABLE_LINES, FOOT_LINES = 4, 1
WIDTHS = {"tiny": 44, "narrow": 68, "middle": 90, "wide": 118}
FIXED = {"waiting": 7, "later": 6, "running": 7, "rate/s": 6, "oldest": 6, "state": 9}
GAP, MINIMUM = 3, 4


@dataclass(frozen=True, slots=True)
class View:
    """How to look at it: the order, the page, how much room there is."""

    sort: Sort = "waiting"
    reverse: bool = False
    page: int = 0
    rows: int = 20
    width: int = 100


def age(channel: ChannelActivity) -> int | None:
    """For how long the first message that waits has been waiting."""
    since = channel.waiting_since
    return None if since is None else max(0, channel.now_at - since)


KEYS: dict[Sort, Callable[[ChannelActivity], tuple[float, float]]] = {
    "waiting": lambda each: (-each.waiting, -(age(each) or 0)),
    "running": lambda each: (-each.in_flight, -each.waiting),
    "rate": lambda each: (-(rate(each) or 0), -each.waiting),
    "oldest": lambda each: (-(age(each) or -1), -each.waiting),
    "state": lambda each: (STATES.index(each.state), -each.waiting),
    "name": lambda each: (0, 0),
}


def ordered(channels: list[ChannelActivity], view: View) -> list[ChannelActivity]:
    """The channels in the order of the view; those that are alike by name."""
    by_name = sorted(channels, key=lambda each: each.channel)
    found = sorted(by_name, key=KEYS[view.sort])
    return found[::-1] if view.reverse else found


def pages(look: Look, view: View) -> int:
    """How many pages there are."""
    return max(1, -(-len(look.channels) // view.rows))


def screen(look: Look, view: View, *, title: str, foot: str | None = None) -> RenderableType:
    """The whole screen."""
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = [head(look, title), channels(look, view)]
    if foot is not None:
        shown = f"page {view.page % pages(look, view) + 1} of {pages(look, view)}, by {view.sort}"
        parts.append(Text(f"{shown}   {foot}", style="dim", no_wrap=True, overflow="ellipsis"))
    return Group(*parts)


def head(look: Look, title: str) -> Text:
    """The figures of the whole queue."""
    from rich.text import Text

    stats, alive = look.stats, [each for each in look.workers if each.alive]
    about = "about " if stats.estimated else ""
    most = f" of {stats.max_concurrency:,}" if stats.max_concurrency else ""
    figures = [
        f"{about}{stats.waiting:,} waiting",
        f"{stats.in_flight:,}{most} running",
        f"{stats.dead:,} dead",
        f"{about}{stats.channels:,} channels, {stats.ready:,} ready",
        f"{speed(look.rate)} a second",
        counted(len(alive), "worker"),
    ]
    text = Text(title, style="bold")
    text.append("\n" + " · ".join(figures), style="not bold")
    if not alive and stats.ready and not stats.in_flight:
        text.append("\nNo worker is running.", style="yellow not bold")
    return text


def speed(value: float | None) -> str:
    """A rate with as many digits as it deserves."""
    if value is None:
        return NOTHING
    return f"{value:,.0f}" if value >= 10 or value == 0 else f"{value:.1f}"


def channels(look: Look, view: View) -> RenderableType:
    """A page of the channels, with the columns that there is room for."""
    from rich.text import Text

    found = ordered(look.channels, view)
    start = view.page % pages(look, view) * view.rows
    if not found:
        return Text("\nNothing goes on in any channel.\n", style="dim")
    columns = columns_for(view.width)
    lines = [[COLUMNS[name](each) for name in columns] for each in found[start : start + view.rows]]
    needs = [max(line[place].cell_len for line in lines) for place in range(len(columns))]
    made = empty_table(columns, widths(dict(zip(columns, needs, strict=True)), view.width))
    for line in lines:
        made.add_row(*line)
    return made


def widths(needs: dict[str, int], width: int) -> dict[str, int]:
    """How wide each column is: numbers always fit, what is left is shared by the names and words."""
    fixed = {name: max(FIXED[name], needs[name]) for name in needs if name in FIXED}
    left = width - sum(fixed.values()) - GAP * (len(needs) - 1) - 2
    found = dict(fixed)
    for name in ("channel", "limits", "why"):
        if name in needs:
            share = left if name == "why" or len(needs) == len(fixed) + 1 else left * 2 // 5
            found[name] = max(MINIMUM, min(max(needs[name], len(name)), share))
            left -= found[name]
    return found


def empty_table(columns: list[str], room: dict[str, int]) -> Table:
    """The table with its columns, each as wide as it may be."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, expand=False)
    for name in columns:
        is_text = name in ("channel", "state", "limits", "why")
        justify: Literal["left", "right"] = "left" if is_text else "right"
        made.add_column(name, justify=justify, no_wrap=True, overflow="ellipsis", width=room[name])
    return made


def columns_for(width: int) -> list[str]:
    """The columns for a width of the terminal."""
    if width < WIDTHS["tiny"]:
        return ["channel", "waiting", "state"]
    if width < WIDTHS["narrow"]:
        return ["channel", "waiting", "running", "state"]
    if width < WIDTHS["middle"]:
        return ["channel", "waiting", "running", "rate/s", "oldest", "state"]
    if width < WIDTHS["wide"]:
        return ["channel", "waiting", "running", "rate/s", "oldest", "state", "why"]
    return ["channel", "waiting", "later", "running", "rate/s", "oldest", "limits", "state", "why"]


def running(channel: ChannelActivity) -> str:
    """How many are running, of how many that may."""
    most = channel.max_concurrency
    return f"{channel.in_flight:,}" + (f"/{most:,}" if most else "")


def state(channel: ChannelActivity) -> Text:
    """The state in its colour."""
    from rich.text import Text

    return Text(channel.state, style=COLOURS.get(channel.state, ""))


COLUMNS: dict[str, Callable[[ChannelActivity], Text]] = {
    "channel": lambda each: plain(each.channel),
    "waiting": lambda each: plain(number(each.waiting, exact=each.counted_exactly)),
    "later": lambda each: plain(number(each.scheduled)),
    "running": lambda each: plain(running(each)),
    "rate/s": lambda each: plain(speed(rate(each))),
    "oldest": lambda each: plain(format_duration(age(each))),
    "limits": lambda each: plain(limits(each)),
    "state": state,
    "why": lambda each: plain(why(each, each.now_at)),
}

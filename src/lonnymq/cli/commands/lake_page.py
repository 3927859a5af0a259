"""The lake as people see it: what is in it, how far it is behind, and why."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from lonnymq.cli.output.console import pairs, rows, table
from lonnymq.cli.output.formatting import NOTHING, counted, number
from lonnymq.cli.output.formatting import at as moment_words
from lonnymq.text import format_duration

if TYPE_CHECKING:
    from lonnymq.lake.status import LakeStatus, SourceLag
    from lonnymq.results import HistoryLag

EVEN = "nothing"


def page(found: LakeStatus) -> Any:
    """The page for people."""
    from rich.console import Group
    from rich.text import Text

    made = table("source", ">rows", ">files", ">bytes", "from", "to")
    lines = (
        [each.source, each.rows, each.files, each.bytes, each.first_day, each.last_day]
        for each in found.sources
    )
    parts: list[Any] = [pairs({"lake": found.lake, "version": found.version}), rows(made, lines)]
    if found.behind:
        parts += [Text("Behind the database", style="bold"), pairs(facts(found.behind))]
    if found.readers:
        readers = table("reader", ">confirmed up to", "at")
        listed = (
            [each.name, each.confirmed, moment_words(each.confirmed_at)] for each in found.readers
        )
        parts += [Text("\nKeep history from being dropped", style="bold"), rows(readers, listed)]
    return Group(*parts)


def facts(behind: SourceLag) -> dict[str, object]:
    """How far the lake is behind, and what holds the rest back."""
    lag = behind.lag
    return {
        "source": behind.source,
        "in the lake": f"up to {behind.upto}{goes_back(behind)}",
        "confirmed": NOTHING if behind.confirmed is None else f"up to {behind.confirmed}",
        "rows": rows_behind(behind),
        "time": format_duration(behind.behind_ms),
        "transactions": number(behind.transactions),
        "held back by": holder(lag),
    }


def goes_back(behind: SourceLag) -> str:
    """What is said of a lake that has more than the database knows of."""
    if behind.rewind_to is None:
        return ""
    return f", of which the database knows up to {behind.rewind_to}: the next sync goes back there"


def rows_behind(behind: SourceLag) -> str:
    """How many rows are missing, and which of them a sync could bring now."""
    words = counted(behind.rows, "row", exact=behind.rows_exact)
    if not behind.rows:
        return words
    return f"{words}, {behind.lag.ready:,} to be had now, {behind.rows_held:,} held back"


def holder(lag: HistoryLag) -> str:
    """The oldest transaction that has written and is open, as far as it may be seen."""
    if not lag.is_held:
        return EVEN
    open_for = (
        f", open for {format_duration((datetime.now(UTC) - lag.holder_since).total_seconds() * 1000)}"
        if lag.holder_since
        else ""
    )
    where = f" in database {lag.holder_database}" if lag.holder_database else ""
    if lag.holder_prepared is not None:
        return f"prepared transaction {lag.holder_prepared!r} of {lag.holder_user}{where}{open_for}"
    if lag.holder_pid is None:
        return f"transaction {lag.horizon}, whose session may be seen by members of pg_read_all_stats only"
    return (
        f"pid {lag.holder_pid}, {lag.holder_application or 'without a name'}, user {lag.holder_user}"
        f"{where}, {lag.holder_state}{open_for}"
    )

"""`lonnymq report`: a report of a lake's history as an HTML page, as JSON or as CSV."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from lonnymq.cli.errors import Code, CommandError
from lonnymq.cli.options import LakePath, StorageOptions, option, parse_settings, read_day
from lonnymq.cli.output import make_list
from lonnymq.cli.session import (
    QUIET,
    Conf,
    Master,
    Session,
    Ship,
    command,
    create_group,
    open_spark,
)
from lonnymq.text import format_count

if TYPE_CHECKING:
    from lonnymq.analytics import Period, RefreshResult

DEFAULT_OUT = "report.html"
LOCAL_PARTITIONS = 8  # more partitions cost more than they save on a single machine
Begin = Annotated[
    str | None,
    option("First day or time. Default: a week before the end.", "--from", metavar="DAY"),
]
End = Annotated[
    str | None,
    option(
        "Last day, or time of the end. Default: the last day in the lake.", "--to", metavar="DAY"
    ),
]
Source = Annotated[
    str | None, option("Only history of this database. Default: all databases.", metavar="NAME")
]
Out = Annotated[str | None, option(f"File of the page. Default: {DEFAULT_OUT}.", metavar="FILE")]
Csv = Annotated[
    str | None, option("Write all tables as CSV files into this folder.", "--csv", metavar="DIR")
]

app = create_group("Write a report of the history in a lake.")


@command(app)
def report(
    session: Session,
    lake: LakePath,
    begin: Begin = None,
    end: End = None,
    source: Source = None,
    out: Out = None,
    csv: Csv = None,
    storage: StorageOptions = None,
    master: Master = None,
    conf: Conf = None,
    ship: Ship = True,
) -> None:
    """Write a report of a lake's history: an HTML file with charts and tables, which needs no network.

    Days and times are in UTC, and the day of --to is included. A period of a day or more has whole days. A shorter
    period has shorter intervals. The command computes analytics for days with new history, and stores them in the lake.
    With --json or --csv you get the data. Then the page is written only with --out.
    """
    from lonnymq.lake.location import HISTORY, resolve_lake
    from lonnymq.lake.tables import open_table

    first, last = read_day(begin, "--from"), read_day(end, "--to", is_last=True)
    location = resolve_lake(lake, parse_settings(storage, "--storage-option"))
    check_paths(out, csv)
    open_table(location, HISTORY)  # raises before Spark starts
    is_local = master is None or master.startswith("local")
    local = [f"spark.sql.shuffle.partitions={LOCAL_PARTITIONS}"] if is_local else []
    settings = [*QUIET, *local, *(conf or [])]
    with open_spark(master, settings, ship=ship, app="lonnymq report") as spark:
        from lonnymq.report import load_period

        with session.out.show_status("computing analytics"):
            period = load_period(
                spark,
                location,
                begin=first,
                end=last,
                source=source,
                on_progress=lambda each: print_refresh(session, each),
            )
        write_report(session, period, source=source, out=out, csv=csv)


def check_paths(out: str | None, csv: str | None) -> None:
    """Reject a path that cannot be written, before the analytics are computed."""
    if csv is not None and Path(csv).exists() and not Path(csv).is_dir():
        raise CommandError(f"--csv: {csv} is a file: name a folder.", Code.USAGE)
    path = Path(out or DEFAULT_OUT)
    if path.is_dir():
        raise CommandError(f"--out: {path} is a folder: name a file in the folder.", Code.USAGE)
    if not path.absolute().parent.is_dir():
        raise CommandError(f"--out: the folder of {path} does not exist: create the folder first.")


def write_report(
    session: Session, period: Period, *, source: str | None, out: str | None, csv: str | None
) -> None:
    """Write the page and the tables, and print the highlights."""
    from lonnymq.report import build_document, render_page, write_csv_tables

    written: dict[str, Any] = {}
    if csv is not None:
        with session.out.show_status("writing tables"), explain_write_errors():
            counts = write_csv_tables(period, Path(csv))
        rows = format_count(sum(counts.values()), "row")
        written["tables"] = f"{csv}: {rows} in {len(counts)} files"
    is_page = out is not None or (csv is None and not session.out.as_json)
    if not is_page and not session.out.as_json:
        session.out.print_result(written, lambda: make_list(written))
        return
    with session.out.show_status("collecting data"):
        document = build_document(period, source=source)
    if is_page:
        path = Path(out or DEFAULT_OUT)
        with explain_write_errors():
            path.write_text(render_page(document), encoding="utf-8")
        written["page"] = f"{path}: {path.stat().st_size / 1_000_000:.1f} MB"
    for number, each in enumerate(document["highlights"], 1):
        written[f"{number}."] = f"{each['title']}. {each['text']}"
    if not document["highlights"]:
        written["report"] = "no attempts in this period"
    session.out.print_result(document, lambda: make_list(written))


@contextmanager
def explain_write_errors() -> Iterator[None]:
    """Turn an error of a file into a sentence."""
    try:
        yield
    except OSError as error:
        if error.filename is None:  # not the error of a file
            raise
        raise CommandError(f"{error.filename} cannot be written: {error.strerror}.") from None


def print_refresh(session: Session, result: RefreshResult) -> None:
    """Print the days whose analytics were computed."""
    first, last = result.days[0], result.days[-1]
    days = f"{first}" if len(result.days) == 1 else f"{first} to {last}"
    rows = format_count(result.rows, "row")
    session.out.print_note(
        f"analytics of {result.source}, {days}: {rows} in {result.seconds:.1f} s"
    )

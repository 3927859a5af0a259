"""`lonnymq report`: what happened for whom, and was it fair, as one page, as JSON or as CSV."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lonnymq.cli.errors import Code, CommandError
from lonnymq.cli.commands.lake import Place, Storage, pairs_of, spark_session
from lonnymq.cli.output.console import pairs
from lonnymq.cli.session import Session, command, group
from lonnymq.cli.spark_session import QUIET
from lonnymq.cli.commands.spark_worker import Conf, Master, Ship
from lonnymq.cli.output.formatting import counted

if TYPE_CHECKING:
    from lonnymq.analytics import Period, RefreshResult

DEFAULT_OUT = "report.html"
PARTS = 8
FIRST_YEAR, LAST_YEAR = 1900, 9000
NEVER = datetime.max
Begin = Annotated[
    str | None,
    typer.Option(
        "--from", metavar="DAY", help="The first day, or moment; else a week before the end."
    ),
]
End = Annotated[
    str | None,
    typer.Option(
        "--to", metavar="DAY", help="The last day, or the moment to end at; else the last there is."
    ),
]
Source = Annotated[
    str | None, typer.Option(metavar="NAME", help="Only what comes from this database; else all.")
]
Out = Annotated[
    str | None, typer.Option(metavar="FILE", help=f"Where to write the page; else {DEFAULT_OUT}.")
]
Csv = Annotated[
    str | None, typer.Option("--csv", metavar="DIR", help="Write all tables as CSV files into DIR.")
]

app = group("Say what happened, for whom, and whether it was fair.")


@command(app)
def report(
    at: Session,
    lake: Place,
    begin: Begin = None,
    end: End = None,
    source: Source = None,
    out: Out = None,
    csv: Csv = None,
    storage: Storage = None,
    master: Master = None,
    conf: Conf = None,
    ship: Ship = True,
) -> None:
    """Write a report of a lake's history: one HTML file with pictures and tables, which needs no network.

    Days and moments are in UTC; the day of --to is included. A day or more is of whole days; less than a day is shown
    in finer steps. Analytics are computed for days with new history, and stored in the lake.
    With --json or --csv you get the data. Then the page is written only with --out.
    """
    from lonnymq.lake.location import HISTORY, resolve_lake
    from lonnymq.lake.tables import open_table

    first, last = moment(begin, "--from"), moment(end, "--to", is_last=True)
    place = resolve_lake(lake, pairs_of(storage))
    check_folder(out, csv)
    open_table(place, HISTORY)  # raises before Spark takes its time to start
    ours = [*QUIET, *few_parts(master), *(conf or [])]
    with spark_session(master, ours, is_shipped=ship) as spark:
        from lonnymq.report import load_period

        with at.out.working("computing analytics"):
            period = load_period(
                spark,
                place,
                begin=first,
                end=last,
                source=source,
                on_progress=lambda each: told(at, each),
            )
        answer(at, period, source=source, out=out, csv=csv)


def few_parts(master: str | None) -> list[str]:
    """On one machine shuffles into many parts cost more than they bring; what --conf says comes later, and holds."""
    is_local = master is None or master.startswith("local")
    return [f"spark.sql.shuffle.partitions={PARTS}"] if is_local else []


def check_folder(out: str | None, csv: str | None) -> None:
    """Reject a place where no file can be written, before anything is computed."""
    if csv is not None and Path(csv).exists() and not Path(csv).is_dir():
        raise CommandError(f"--csv: {csv} is a file: name a folder.", Code.USAGE)
    path = Path(out or DEFAULT_OUT)
    if path.is_dir():
        raise CommandError(f"--out: {path} is a folder: name a file in it.", Code.USAGE)
    if not path.absolute().parent.is_dir():
        raise CommandError(f"--out: the folder of {path} is not there: make it first.")


def answer(
    at: Session, period: Period, *, source: str | None, out: str | None, csv: str | None
) -> None:
    """Write what was asked for, and say where it is."""
    from lonnymq.report import build_document, render_page, write_csv_tables

    written: dict[str, object] = {}
    if csv is not None:
        with at.out.working("writing tables"), told_of_files():
            counts = write_csv_tables(period, Path(csv))
        written["tables"] = f"{csv}: {counted(sum(counts.values()), 'row')} in {len(counts)} files"
    is_page = out is not None or (csv is None and not at.out.as_json)
    if not is_page and not at.out.as_json:
        at.out.answer(written, lambda: pairs(written))
        return
    with at.out.working("collecting data"):
        document = build_document(period, source=source)
    if is_page:
        path = Path(out or DEFAULT_OUT)
        with told_of_files():
            path.write_text(render_page(document), encoding="utf-8")
        written["page"] = f"{path}: {path.stat().st_size / 1_000_000:.1f} MB"
    summary: dict[str, Any] = {
        **written,
        **{
            f"{number}.": f"{each['title']}. {each['text']}"
            for number, each in enumerate(document["highlights"], 1)
        },
    }
    if not document["highlights"]:
        summary["report"] = "no attempts in this period"
    at.out.answer(document, lambda: pairs(summary))


@contextmanager
def told_of_files() -> Iterator[None]:
    """Say in a sentence which file cannot be written, and why."""
    try:
        yield
    except OSError as error:
        if error.filename is None:  # something else than a file
            raise
        raise CommandError(f"{error.filename} cannot be written: {error.strerror}.") from None


def told(at: Session, done: RefreshResult) -> None:
    """Say which days were computed."""
    days = f"{done.days[0]}" if len(done.days) == 1 else f"{done.days[0]} to {done.days[-1]}"
    at.out.note(
        f"analytics of {done.source}, {days}: {counted(done.rows, 'row')} in {done.seconds:.1f} s"
    )


def moment(text: str | None, option: str, *, is_last: bool = False) -> datetime | None:
    """A day, or an ISO 8601 moment, in UTC where no zone is given; the end of a day where it is the last one."""
    if text is None:
        return None
    try:
        read = datetime.fromisoformat(text.strip())
    except ValueError:
        read = NEVER
    if not FIRST_YEAR <= read.year < LAST_YEAR:
        raise CommandError(
            f"{option}: '{text}' is no day and no moment: write 2030-01-31, or 2030-01-31T08:00.",
            Code.USAGE,
        )
    read = read.replace(tzinfo=UTC) if read.tzinfo is None else read
    return read + timedelta(days=1) if is_last and is_day(text) else read


def is_day(text: str) -> bool:
    """Whether a text names a day, and no moment in it."""
    try:
        date.fromisoformat(text.strip())
    except ValueError:
        return False
    return True

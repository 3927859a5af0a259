"""`lonnymq tune`: from objectives to settings, applied with an entry in the audit log, and taken back."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from lonnymq.cli.errors import Code, CommandError
from lonnymq.cli.options import StorageOptions, Yes, option, parse_settings, read_epoch
from lonnymq.cli.session import Conf, Session, command, create_group
from lonnymq.cli.simulation import SparkSettings
from lonnymq.cli.tuning import TuningRun, undo_tuning

MAX_WORKERS = 100_000

Objectives = Annotated[
    list[str] | None,
    option(
        "What you want: 'gold: p99 wait <= 5s', or 'all: fairness >= 0.95'. You can repeat this option.",
        "--objective",
        metavar="CLASS: MEASURE",
    ),
]
Classes = Annotated[
    list[str] | None,
    option(
        "Channels of a class: gold=acme,globex, gold=eu-* for a prefix, or gold=@FILE with a channel per line.",
        "--class",
        metavar="NAME=CHANNELS",
    ),
]
Workers = Annotated[
    str | None,
    option(
        "Number of messages that may run at the same time: '<= 40', or '= 16'. Default: at most as recorded.",
        metavar="BOUND",
    ),
]
LakePath = Annotated[
    str | None, option("Lake with the history to replay.", "--lake", metavar="PATH")
]
Source = Annotated[str | None, option("Database, if the lake has several.", metavar="NAME")]
Begin = Annotated[str | None, option("First day or time.", "--from", metavar="DAY")]
End = Annotated[str | None, option("Last day, or time of the end.", "--to", metavar="DAY")]
RecordedWorkers = Annotated[
    int | None,
    option(
        "Number of messages that could run at the same time. Default: the recorded maximum.", min=1
    ),
]
MaxError = Annotated[
    float, option("Maximum relative error of the replay at the recorded settings.", min=0)
]
Margin = Annotated[
    float,
    option("Share by which the search aims better than the objectives.", min=0, max=0.9),
]
Replays = Annotated[int, option("Maximum number of settings to replay.", min=1, max=100_000)]
Spark = Annotated[
    str | None,
    option(
        "Replay on Spark, for example local[2] or spark://host:7077. Default: local[*] for a long history. "
        "The value never replays without Spark.",
        metavar="MASTER",
    ),
]
Apply = Annotated[bool, option("Set the settings, and write the audit log.", "--apply")]
Undo = Annotated[bool, option("Take the last applied settings back.", "--undo")]

app = create_group("Find the cheapest settings that meet your objectives.")


@command(app)
def tune(
    session: Session,
    objectives: Objectives = None,
    classes: Classes = None,
    workers: Workers = None,
    lake: LakePath = None,
    source: Source = None,
    begin: Begin = None,
    end: End = None,
    storage: StorageOptions = None,
    recorded_workers: RecordedWorkers = None,
    max_error: MaxError = 0.25,
    margin: Margin = 0.1,
    max_replays: Replays = 1000,
    spark: Spark = None,
    conf: Conf = None,
    apply: Apply = False,
    undo: Undo = False,
    yes: Yes = False,
) -> None:
    """Find the cheapest settings that meet your objectives, from the history of a lake.

    The command replays the history under many settings, and searches for the fewest workers, then for the fewest
    changes of weights and of max_concurrency. A part of the history is held back from the search, and shows how well
    the answer carries over. The command refuses to answer if the history is too short or too different from its replay.

    With --apply the command sets the settings of channels. You start or stop workers yourself.
    """
    if undo:
        if objectives or lake or apply:
            raise CommandError("--undo takes no --objective, --lake or --apply.", Code.USAGE)
        undo_tuning(session, yes=yes)
        return
    if lake is None or not objectives:
        raise CommandError(
            "Name the lake and your objectives: --lake PATH --objective 'all: p99 wait <= 5s'.",
            Code.USAGE,
        )
    run = TuningRun(
        session, objectives, classes or [], None if workers is None else read_workers(workers),
        SparkSettings(spark, conf or [], "lonnymq tune"),
    )  # fmt: skip
    if apply:
        session.queue.epoch()  # a database that cannot be reached is an error before the search, not after it
    run.read(
        lake, source=source, begin=read_epoch(begin, "--from"),
        end=read_epoch(end, "--to", is_last=True), workers=recorded_workers,
        storage_options=parse_settings(storage, "--storage-option"),
    )  # fmt: skip
    run.search(margin=margin, max_error=max_error, max_replays=max_replays)
    run.print_answer()
    if apply:
        run.apply(yes=yes)
    elif not run.tuning.holds:
        raise typer.Exit(Code.REJECTED)


def read_workers(text: str) -> tuple[int, int]:
    """The fewest and the most workers of a bound."""
    found = re.fullmatch(r"\s*(<=|=)?\s*(\d{1,6})\s*", text)
    number = int(found[2]) if found else 0
    if found is None or not 1 <= number <= MAX_WORKERS:
        raise CommandError(
            f"--workers: write '<= 40' or '= 16', from 1 to {MAX_WORKERS:,}, not '{text}'.",
            Code.USAGE,
        )
    return (number, number) if found[1] == "=" else (1, number)

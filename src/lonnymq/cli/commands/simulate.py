"""`lonnymq simulate`: replay a workload with other limits, weights, workers and numbers of messages."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import typer

from lonnymq.cli.errors import Code, CommandError
from lonnymq.cli.options import StorageOptions, option, parse_settings, read_epoch
from lonnymq.cli.session import Conf, Session, command, create_group
from lonnymq.cli.simulation import Simulation, SparkSettings

T = TypeVar("T", int, float)

DEFAULT_WORKERS = 16
MAX_MESSAGES = 10_000_000


scenario_option = partial(option, rich_help_panel="Scenarios")
recorded_option = partial(option, rich_help_panel="Recorded workload")
synthetic_option = partial(option, rich_help_panel="Synthetic workload")
Settings = Annotated[
    list[str] | None,
    scenario_option(
        "A limit to try. Use * for every channel, and 2,4,8 to compare values.",
        "--set",
        metavar="CHANNEL.OPTION=VALUE",
    ),
]
Workers = Annotated[
    str | None,
    scenario_option(
        "Numbers of messages that run at the same time, to compare. Default: as recorded, else 16.",
        metavar="N,N,...",
    ),
]
Growth = Annotated[
    str,
    scenario_option(
        "Factors for the number of messages, to compare: 1.5 is 50% more.", metavar="X,X,..."
    ),
]
Seed = Annotated[
    int, scenario_option("Seed. The same seed makes the same workload and the same growth.")
]
Picture = Annotated[
    Path | None, scenario_option("File for a chart: .svg, or .html with tables.", metavar="FILE")
]
Spark = Annotated[
    str | None,
    scenario_option(
        "Run the scenarios on Spark, for example local[2] or spark://host:7077. Default: local[*] for many "
        "scenarios, else without Spark. The value never runs without Spark.",
        metavar="MASTER",
    ),
]
LakePath = Annotated[
    str | None,
    recorded_option(
        "Lake with the history to replay. With --synthetic: the lake to write.",
        "--lake",
        metavar="PATH",
    ),
]
Source = Annotated[
    str | None, recorded_option("Database, if the lake has several databases.", metavar="NAME")
]
Begin = Annotated[
    str | None, recorded_option("First day or time to replay.", "--from", metavar="DAY")
]
End = Annotated[str | None, recorded_option("Last day, or time of the end.", "--to", metavar="DAY")]
RecordedWorkers = Annotated[
    int | None,
    recorded_option(
        "Number of messages that could run at the same time. Default: the recorded maximum.", min=1
    ),
]
MaxError = Annotated[
    float, recorded_option("Maximum relative error of the replay at the recorded settings.", min=0)
]
Synthetic = Annotated[bool, synthetic_option("Generate a workload from --seed.", "--synthetic")]
Tenants = Annotated[int, synthetic_option("Number of tenants.", min=1, max=100_000)]
Messages = Annotated[int, synthetic_option("Number of messages.", min=1, max=1_000_000_000)]
Days = Annotated[
    int | None,
    synthetic_option(
        "With --lake: number of days that Spark generates without a replay.", min=1, max=10_000
    ),
]
Load = Annotated[
    float,
    synthetic_option("Share of the time that the first number of --workers is busy.", min=0.01),
]
Noisy = Annotated[
    float, synthetic_option("Share of all messages that a single tenant sends.", min=0, max=1)
]
Failing = Annotated[float, synthetic_option("Share of attempts that fail.", min=0, max=1)]
Deferring = Annotated[float, synthetic_option("Share of attempts that are deferred.", min=0, max=1)]
Arrivals = Annotated[
    Literal["steady", "bursts", "daily"], synthetic_option("Distribution of arrivals.")
]
Service = Annotated[
    Literal["fixed", "exponential", "heavy"], synthetic_option("Distribution of run times.")
]
ServiceMs = Annotated[
    int, synthetic_option("Average run time of a message in milliseconds.", min=1, max=86_400_000)
]

app = create_group("Replay a workload with other settings.")


@command(app)
def simulate(
    session: Session,
    lake: LakePath = None,
    source: Source = None,
    begin: Begin = None,
    end: End = None,
    storage: StorageOptions = None,
    recorded_workers: RecordedWorkers = None,
    max_error: MaxError = 0.25,
    settings: Settings = None,
    workers: Workers = None,
    growth: Growth = "1",
    picture: Picture = None,
    spark: Spark = None,
    conf: Conf = None,
    seed: Seed = 1,
    synthetic: Synthetic = False,
    tenants: Tenants = 100,
    messages: Messages = 100_000,
    days: Days = None,
    load: Load = 0.8,
    noisy: Noisy = 0.0,
    failing: Failing = 0.0,
    deferring: Deferring = 0.0,
    arrivals: Arrivals = "steady",
    service: Service = "exponential",
    service_ms: ServiceMs = 100,
) -> None:
    """Replay a workload with other limits, weights, workers and numbers of messages, and compare the waits.

    The workload is the history of a lake, or synthetic. The replay uses the scheduler of the engine, message by
    message, and the recorded run times. A recorded workload is first replayed at its own settings. The command rejects
    the workload if the result differs too much from the history. The command uses no queue.

    With --synthetic and --lake the command writes the synthetic workload into the lake, as recorded history.
    """
    from lonnymq.simulate import WorkloadShape

    advice = "--workers: write whole numbers, like 8,16,32"
    worker_counts = None if workers is None else parse_numbers(workers, int, 1, 1_000_000, advice)
    advice = "--growth: write numbers from 0.001 to 1000, like 1,1.5,2"
    growths = parse_numbers(growth, float, 0.001, 1000, advice)
    simulation = Simulation(
        session, settings or [], worker_counts, growths, picture,
        SparkSettings(spark, conf or []), seed,
    )  # fmt: skip
    if days is not None and (not (synthetic and lake) or settings or workers):
        raise CommandError(
            "--days needs --synthetic and --lake. Remove --set and --workers, because --days replays nothing.",
            Code.USAGE,
        )
    storage_options = parse_settings(storage, "--storage-option")
    if synthetic:
        if messages > MAX_MESSAGES and days is None:
            raise CommandError(
                f"The maximum is {MAX_MESSAGES:,} messages. Use --days for more.", Code.USAGE
            )
        shape = WorkloadShape(
            messages=messages, tenants=tenants, workers=(worker_counts or [DEFAULT_WORKERS])[0],
            load=load, noisy=noisy, failing=failing, deferring=deferring, arrivals=arrivals,
            service=service, service_ms=service_ms, seed=seed,
        )  # fmt: skip
        if lake is None:
            simulation.replay_synthetic(shape)
        else:
            simulation.write_lake(shape, lake, source or "synthetic", storage_options, days)
        return
    if lake is None:
        raise CommandError(
            "Name the workload: --lake PATH, or --synthetic for a synthetic workload.", Code.USAGE
        )
    simulation.replay_lake(
        lake, max_error, source=source, begin=read_epoch(begin, "--from"),
        end=read_epoch(end, "--to", is_last=True), workers=recorded_workers,
        storage_options=storage_options,
    )  # fmt: skip


def parse_numbers(
    text: str, kind: Callable[[str], T], minimum: float, maximum: float, advice: str
) -> list[T]:
    """Distinct numbers separated by commas."""
    try:
        found = list(dict.fromkeys(kind(each) for each in text.split(",")))
    except ValueError:
        found = []
    if not found or not all(minimum <= each <= maximum for each in found):
        raise typer.BadParameter(f"{advice}, not {text!r}")
    return found

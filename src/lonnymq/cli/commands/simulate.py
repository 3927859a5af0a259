"""`lonnymq simulate`: what would have happened with other limits, weights, workers and numbers of messages."""

from __future__ import annotations

from lonnymq.cli.commands import simulate_options as option
from lonnymq.cli.errors import Code, CommandError
from lonnymq.cli.commands.lake import Storage, pairs_of
from lonnymq.cli.session import Session, command, group
from lonnymq.cli.spark_session import Place
from lonnymq.cli.simulation import Trying
from lonnymq.cli.commands.spark_worker import Conf

WORKERS = 16
MOST = 10_000_000

app = group("Ask what would have happened.")


@command(app)
def simulate(
    at: Session,
    lake: option.LakePath = None,
    source: option.Source = None,
    begin: option.From = None,
    end: option.To = None,
    storage: Storage = None,
    recorded_workers: option.RecordedWorkers = None,
    most_off: option.MostOff = 0.25,
    settings: option.Set = None,
    workers: option.Workers = None,
    growth: option.Growth = "1",
    picture: option.Picture = None,
    spark: option.Spark = None,
    conf: Conf = None,
    seed: option.Seed = 1,
    synthetic: option.Synthetic = False,
    tenants: option.Tenants = 100,
    messages: option.Messages = 100_000,
    days: option.Days = None,
    load: option.Load = 0.8,
    noisy: option.Noisy = 0.0,
    failing: option.Failing = 0.0,
    deferring: option.Deferring = 0.0,
    arrivals: option.Arrivals = "steady",
    service: option.Service = "exponential",
    service_ms: option.ServiceMs = 100,
) -> None:
    """Replay a workload under other limits, weights, workers and numbers of messages, and compare the waits.

    The workload is what a lake has recorded, or one that is made up. The scheduler is the engine's, message by
    message; times of work are taken as they were. What was recorded is replayed at its own settings first, and rejected
    if that is not what was recorded. No queue is read from or written to.

    With --synthetic and --lake, what is made up is written into a lake, as history that was recorded at these settings.
    """
    from lonnymq.simulate import WorkloadShape

    crews = None if workers is None else option.crews_of(workers)
    at_spark = Place(spark, conf or [])
    trying = Trying(at, settings or [], crews, option.growths_of(growth), picture, at_spark, seed)
    if days is not None and (not (synthetic and lake) or settings or workers):
        raise CommandError(
            "--days is for --synthetic with --lake, and nothing of it is replayed: leave --set and --workers out.",
            Code.USAGE,
        )
    if synthetic:
        if messages > MOST and days is None:
            raise CommandError(
                f"At most {MOST:,} messages are replayed; with --days more are made up.", Code.USAGE
            )
        shape = WorkloadShape(
            messages=messages, tenants=tenants, workers=(crews or [WORKERS])[0], load=load,
            noisy=noisy, failing=failing, deferring=deferring, arrivals=arrivals, service=service,
            service_ms=service_ms, seed=seed,
        )  # fmt: skip
        if lake is None:
            trying.made_up(shape)
        else:
            trying.write(shape, lake, source or "synthetic", pairs_of(storage), days)
        return
    if lake is None:
        raise CommandError(
            "Say what is to be replayed: --lake PATH, or --synthetic for a workload that is made up.",
            Code.USAGE,
        )
    first = option.epoch_ms(begin, "--from")
    last = option.epoch_ms(end, "--to", is_last=True)
    trying.recorded(
        lake, most_off, source=source, begin=first, end=last, workers=recorded_workers,
        storage_options=pairs_of(storage),
    )  # fmt: skip

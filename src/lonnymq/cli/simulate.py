"""`lonnymq simulate`: what would have happened with other limits, weights, workers and numbers of messages."""

from __future__ import annotations

from lonnymq.cli import simulate_options as option
from lonnymq.cli.refusals import Code, Refused
from lonnymq.cli.session import Session, command, group
from lonnymq.cli.simulate_trying import Trying

WORKERS = 16

app = group("Ask what would have happened.")


@command(app)
def simulate(
    at: Session,
    lake: option.LakePath = None,
    source: option.Source = None,
    begin: option.From = None,
    end: option.To = None,
    recorded_workers: option.RecordedWorkers = None,
    most_off: option.MostOff = 0.25,
    settings: option.Set = None,
    workers: option.Workers = None,
    growth: option.Growth = "1",
    picture: option.Picture = None,
    spark: option.Spark = None,
    seed: option.Seed = 1,
    synthetic: option.Synthetic = False,
    tenants: option.Tenants = 100,
    messages: option.Messages = 100_000,
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
    message; times of work are taken as they were. What was recorded is replayed at its own settings first, and refused
    if that is not what was recorded. No queue is read from or written to.

    With --synthetic and --lake, what is made up is written into a lake, as history that was recorded at these settings.
    """
    from lonnymq.simulate import Shape

    crews = None if workers is None else option.crews_of(workers)
    trying = Trying(at, settings or [], crews, option.growths_of(growth), picture, spark, seed)
    if synthetic:
        shape = Shape(
            messages=messages, tenants=tenants, workers=(crews or [WORKERS])[0], load=load,
            noisy=noisy, failing=failing, deferring=deferring, arrivals=arrivals, service=service,
            service_ms=service_ms, seed=seed,
        )  # fmt: skip
        if lake is None:
            trying.made_up(shape)
        else:
            trying.write(shape, lake, source or "synthetic")
        return
    if lake is None:
        raise Refused(
            "Say what is to be replayed: --lake PATH, or --synthetic for a workload that is made up.",
            Code.USAGE,
        )
    stretch = {"source": source, "workers": recorded_workers}
    stretch |= {"begin": option.epoch_ms(begin, "--from"), "end": option.epoch_ms(end, "--to")}
    trying.recorded(lake, most_off, **stretch)

"""(c) Steady state: 8 producers and 8 consumers, one message a call, over 1, 100 and 10,000 channels."""

from __future__ import annotations

from benchmarks.entrant import Measurement
from benchmarks.run import Run, channel_counts
from benchmarks.server import vacuum_database
from benchmarks.systems import get_system

MEMBERS = 8
ALL = ("lonnymq", "pgmq archive", "pgmq pooled", "PgQueuer", "skip locked table", "channel table")


def run(run: Run) -> None:
    for number in range(run.repeat):
        for name in run.select_systems(ALL):
            for channels in (
                () if run.skips_round(number, "steady", name) else channel_counts(name, run.counts)
            ):
                sample(run, name, channels)
    run.drop_entrants()


def sample(run: Run, name: str, channels: int) -> None:
    def take() -> Measurement:
        entrant = run.get_entrant(name, channels, purpose="steady")
        vacuum_database(entrant.dsn)
        return entrant.run_steady(MEMBERS, MEMBERS, run.seconds)

    case = {"channels": channels if get_system(name).has_tenants else "any"}
    run.sample("steady", case, name, "messages/s", take)

"""(c) Steady state: 8 producers and 8 consumers, one message a call, over 1, 100 and 10,000 channels."""

from __future__ import annotations

from benchmarks.systems import contestant
from benchmarks.entrant import Reading
from benchmarks.run import Run, tenants
from benchmarks.server import tidy

MEMBERS = 8
ALL = ("lonnymq", "pgmq archive", "pgmq pooled", "PgQueuer", "skip locked table", "channel table")


def run(run: Run) -> None:
    for number in range(run.repeat):
        for name in run.among(ALL):
            for channels in (
                () if run.sits_out(number, "steady", name) else tenants(name, run.counts)
            ):
                sample(run, name, channels)
    run.drop_lanes()


def sample(run: Run, name: str, channels: int) -> None:
    def take() -> Reading:
        lane = run.lane(name, channels, purpose="steady")
        tidy(lane.dsn)
        return lane.steady(MEMBERS, MEMBERS, run.seconds)

    case = {"channels": channels if contestant(name).has_tenants else "any"}
    run.sample("steady", case, name, "messages/s", take)

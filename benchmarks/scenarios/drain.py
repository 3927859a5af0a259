"""(b) Drain: from a backlog of 200,000, for a fixed time, at 1, 10 and 100 a call, over 1, 100 and 10,000 channels."""

from __future__ import annotations

from benchmarks.systems import contestant
from benchmarks.entrant import Reading
from benchmarks.run import Run, tenants

EVERYBODY = (
    "lonnymq", "pgmq archive", "lonnymq history off", "pgmq delete", "PgQueuer", "skip locked table",
    "channel table", "Procrastinate", "DBOS", "awa", "chancy", "pgmq grouped",
)  # fmt: skip
FORMS = {
    100: EVERYBODY,
    10: ("lonnymq", "pgmq archive", "PgQueuer", "skip locked table"),
    1: ("lonnymq", "pgmq archive", "pgmq pooled", "lonnymq history off", "pgmq delete", "PgQueuer",
        "skip locked table", "channel table"),
}  # fmt: skip
ROUNDS = {100: 9, 10: 1, 1: 9}  # at most


def run(run: Run) -> None:
    for batch, names in FORMS.items():
        if run.quick and batch == 10:
            continue
        for number in range(min(run.repeat, ROUNDS[batch])):
            for name in run.among(names):
                for channels in (
                    () if run.sits_out(number, "drain", name) else tenants(name, run.counts)
                ):
                    sample(run, name, batch, channels)
    run.drop_lanes()


def sample(run: Run, name: str, batch: int, channels: int) -> None:
    def take() -> Reading:
        lane = run.lane(name, channels, purpose="drain")
        lane.fill(lane.contestant.backlog)
        return lane.drain(batch, run.seconds)

    case = {"batch": batch, "channels": channels if contestant(name).has_tenants else "any"}
    run.sample("drain", case, name, "messages/s", take)

"""(a) Create: one a call with 8 producers, 100 a call with 4, and in bulk with one."""

from __future__ import annotations

from benchmarks.systems import contestant
from benchmarks.processes import Failed
from benchmarks.entrant import Reading
from benchmarks.run import Run
from benchmarks.server import tidy

FORMS = ((1, 8), (100, 4), (10_000, 1))  # messages a call, producers
BULK = 10_000
CHANNELS = 100
ALL = (
    "lonnymq", "pgmq archive", "pgmq pooled", "PgQueuer", "skip locked table", "channel table",
    "Procrastinate", "DBOS", "awa", "chancy",
)  # fmt: skip


def run(run: Run) -> None:
    names = run.among(ALL)
    for batch, producers in FORMS[:2] if run.quick else FORMS:
        for number in range(run.repeat):
            for name in names:
                if not run.sits_out(number, "create", name):
                    sample(run, name, batch, producers)
    run.drop_lanes()


def sample(run: Run, name: str, batch: int, producers: int) -> None:
    def take() -> Reading:
        if batch > 1 and not contestant(name).creates_many:
            raise Failed("it has no call that creates more than one")
        lane = run.lane(name, CHANNELS, purpose="create")
        tidy(lane.dsn)
        if batch == BULK:
            return lane.bulk(batch)
        return lane.create(batch, producers, run.seconds)

    run.sample("create", {"batch": batch}, name, "messages/s", take)

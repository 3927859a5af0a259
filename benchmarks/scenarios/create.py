"""(a) Create: one a call with 8 producers, 100 a call with 4, and in bulk with one."""

from __future__ import annotations

from benchmarks.entrant import Measurement
from benchmarks.processes import SystemFailed
from benchmarks.run import Run
from benchmarks.server import vacuum_database
from benchmarks.systems import get_system

FORMS = ((1, 8), (100, 4), (10_000, 1))  # messages a call, producers
BULK = 10_000
CHANNELS = 100
ALL = (
    "lonnymq", "pgmq archive", "pgmq pooled", "PgQueuer", "skip locked table", "channel table",
    "Procrastinate", "DBOS", "awa", "chancy",
)  # fmt: skip


def run(run: Run) -> None:
    names = run.select_systems(ALL)
    for batch, producers in FORMS[:2] if run.quick else FORMS:
        for number in range(run.repeat):
            for name in names:
                if not run.skips_round(number, "create", name):
                    sample(run, name, batch, producers)
    run.drop_entrants()


def sample(run: Run, name: str, batch: int, producers: int) -> None:
    def take() -> Measurement:
        if batch > 1 and not get_system(name).creates_many:
            raise SystemFailed("no call creates more than one message")
        entrant = run.get_entrant(name, CHANNELS, purpose="create")
        vacuum_database(entrant.dsn)
        if batch == BULK:
            return entrant.create_bulk(batch)
        return entrant.create(batch, producers, run.seconds)

    run.sample("create", {"batch": batch}, name, "messages/s", take)

"""(b) Drain: from a backlog of 200,000, for a fixed time, at 1, 10 and 100 a call, over 1, 100 and 10,000 channels."""

from __future__ import annotations

from benchmarks.entrant import Measurement
from benchmarks.run import Run, channel_counts
from benchmarks.systems import get_system

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
            for name in run.select_systems(names):
                for channels in (
                    ()
                    if run.skips_round(number, "drain", name)
                    else channel_counts(name, run.counts)
                ):
                    sample(run, name, batch, channels)
    run.drop_entrants()


def sample(run: Run, name: str, batch: int, channels: int) -> None:
    def take() -> Measurement:
        entrant = run.get_entrant(name, channels, purpose="drain")
        entrant.fill(entrant.system.backlog)
        return entrant.drain(batch, run.seconds)

    case = {"batch": batch, "channels": channels if get_system(name).has_tenants else "any"}
    run.sample("drain", case, name, "messages/s", take)

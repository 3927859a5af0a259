"""(j) The worker: a drain through handlers, which do nothing, or work for a millisecond; beside other workers."""

from __future__ import annotations

from benchmarks.entrant import Measurement
from benchmarks.run import Run

ALL = ("lonnymq worker", "PgQueuer", "Procrastinate", "awa", "chancy")
ROUNDS = {0: 9, 1: 1}  # at most, for a handler of so many ms; goals are about those that do nothing
BATCH = 100  # for those that can be told how many to fetch


def run(run: Run) -> None:
    for number in range(run.repeat):
        for name in run.select_systems(ALL):
            for work_ms, most in () if run.skips_round(number, "worker", name) else ROUNDS.items():
                if number < most:
                    sample(run, name, work_ms)
    run.drop_entrants()


def sample(run: Run, name: str, work_ms: int) -> None:
    def take() -> Measurement:
        entrant = run.get_entrant(name, 100, purpose="worker")
        entrant.fill(entrant.system.backlog)
        return entrant.drain(BATCH, run.seconds, work_seconds=work_ms / 1000)

    case = {"handler": f"{work_ms} ms of work" if work_ms else "no-op"}
    run.sample("worker", case, name, "messages/s", take)

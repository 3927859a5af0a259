"""The scenarios of work that are measured, each a module with `run(run)`."""

from __future__ import annotations

import traceback
from importlib import import_module

from benchmarks.run import Run

SCENARIOS = (
    "create", "drain", "steady", "latency", "noisy", "growth", "snapshot", "cost", "limits", "worker", "memory",
)  # fmt: skip
APART = (
    "spark",
    "lake",
    "simulate",
    "analytics",
)  # run when they are named: `make bench-spark` and the like
QUICK = ("create", "drain", "steady", "latency")
QUICK_PEERS = ("lonnymq", "pgmq archive", "PgQueuer", "channel table")


def run_scenarios(names: list[str], run: Run) -> dict[str, str]:
    """Run one after the other; a scenario that breaks is written down with the reason, and the others go on."""
    broken = {}
    for name in names:
        try:
            import_module(f"benchmarks.scenarios.{name}").run(run)
        except Exception as error:
            traceback.print_exc()
            broken[name] = f"{type(error).__name__}: {error}"
            run.log(f"{name} · BROKEN: {error}")
            run.drop_entrants()
    return broken

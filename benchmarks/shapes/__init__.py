"""The shapes of work that are measured, each a module with `run(run)`."""

from __future__ import annotations

from importlib import import_module

from benchmarks.run import Run

SHAPES = (
    "create", "drain", "steady", "latency", "noisy", "growth", "snapshot", "cost", "limits", "worker", "memory",
)  # fmt: skip
QUICK = ("create", "drain", "steady", "latency")
QUICK_PEERS = ("lonnymq", "pgmq, archive", "PgQueuer", "channel table")


def run_shape(name: str, run: Run) -> None:
    import_module(f"benchmarks.shapes.{name}").run(run)

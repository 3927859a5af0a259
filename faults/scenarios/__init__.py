"""The scenarios, by name: what each is about, how it runs, and its sizes for the tests, for CI and for a soak."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from faults.run import Result, Run

NAMES = (
    "mixed", "sigkill", "zombie", "restart", "unknown", "open_transaction", "limits", "poison", "snapshot", "fairness",
    "tenants", "deadlocks", "clock", "payloads", "disk", "connections", "crowd", "failover", "hints", "durable",
    "reader", "black_hole", "hung_server", "read_only", "restore", "mass_expiry", "publication", "deploys", "groups",
)  # fmt: skip


@dataclass(frozen=True)
class Scenario:
    """One row of the table of promises."""

    name: str
    about: str
    run: Callable[[Run], None]
    sizes: dict[str, dict[str, Any]]


def load_scenario(name: str) -> Scenario:
    """A scenario by its name, which is that of its module."""
    module = import_module(f"faults.scenarios.{name}")
    return Scenario(name, (module.__doc__ or "").strip(), module.run_scenario, module.SIZES)


def run_scenario(
    name: str,
    *,
    size: str = "ci",
    seed: int = 1,
    quiet: bool = False,
    variant: str | None = None,
    **sizes: Any,
) -> Result:
    """Run a scenario, perhaps with a known-bad variant of the queue, and say what came of it."""
    chosen = load_scenario(name)
    run = Run(name, size, seed, {**chosen.sizes[size], **sizes}, quiet=quiet, variant=variant)
    try:
        chosen.run(run)
    except BaseException as error:
        run.add_violation("broke off", f"{type(error).__name__}: {error}")
        if not isinstance(error, Exception):
            run.finish()
            raise
    return run.finish()

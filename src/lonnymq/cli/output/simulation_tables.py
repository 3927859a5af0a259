"""The tables and the JSON documents of `lonnymq simulate`: the calibration, and the waits of each scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lonnymq.cli.output.console import make_table
from lonnymq.cli.output.formatting import format_timestamp
from lonnymq.text import NOTHING, format_count, format_duration

if TYPE_CHECKING:
    from lonnymq.simulate import Calibration, ReplayResult, Trial, WaitStats
    from lonnymq.simulate.lake_reader import LakeHistory

MAX_TENANTS = 3
PERCENTILES = ("p50", "p95", "p99")


def describe_history(read: LakeHistory) -> str:
    """The source, the period and the size of a history."""
    work = read.history.work
    period = f"{format_timestamp(read.begin)} to {format_timestamp(read.end)}"
    return (
        f"{read.source}, {period}: {format_count(len(work), 'attempt')} of "
        f"{format_count(len(work.names), 'tenant')}, at most {read.history.max_concurrent:,} at once"
    )


def render_calibration(read: LakeHistory, calibration: Calibration, max_error: float) -> Any:
    """The recorded waits beside the replayed waits."""
    from rich.console import Group

    rows = [
        [name, *(format_duration(getattr(each, part)) for part in PERCENTILES)]
        for name, each in (("recorded", calibration.recorded), ("replayed", calibration.replayed))
    ]
    rows.append(["error", *(f"{calibration.error_of(part):.0%}" for part in PERCENTILES)])
    notes = [
        f"While this history was recorded {each}: the replay uses the old setting."
        for each in read.changed
    ]
    return Group(
        f"{describe_history(read)}.",
        make_table("", *(f">{part}" for part in PERCENTILES), rows=rows),
        f"The error of the replay at the recorded settings is {calibration.error:.0%}. "
        f"The maximum is {max_error:.0%}.",
        *notes,
    )


def calibration_document(read: LakeHistory, calibration: Calibration) -> dict[str, Any]:
    """The calibration as a document."""
    return {
        "source": read.source,
        "begin": read.begin,
        "end": read.end,
        "workers": read.scenario.workers,
        "attempts": len(read.history.work),
        "max_concurrent": read.history.max_concurrent,
        "changed": read.changed,
        "recorded": calibration.recorded,
        "replayed": calibration.replayed,
        "error": calibration.error,
    }


def scenario_document(trial: Trial, result: ReplayResult) -> dict[str, Any]:
    """The waits of a scenario as a document."""
    return {
        "workers": trial.scenario.workers,
        "growth": trial.growth,
        "set": [str(each) for each in trial.changes],
        "all": result.all,
        "fairness": result.fairness,
        "tenants": result.tenants,
        "shares": result.shares,
    }


def render_scenarios(found: list[tuple[Trial, ReplayResult]]) -> Any:
    """The waits of each scenario: all tenants together, and the tenants with the longest waits."""
    from rich.console import Group

    has_growth = any(trial.growth != 1 for trial, _ in found)
    rows: list[list[object]] = []
    for trial, result in found:
        growth = [f"{trial.growth:g}"] if has_growth else []
        settings = [trial.scenario.workers, *growth, trial.description]
        rows.append([*settings, "all", *format_waits(result.all), format_index(result.fairness)])
        worst = sorted(result.tenants.items(), key=lambda each: (-each[1].p99, each[0]))
        blank = [""] * len(settings)
        for name, waits in worst[:MAX_TENANTS]:
            share = format_index(result.shares.get(name))
            rows.append([*blank, name, *format_waits(waits), share])
    columns = ["workers", *(["growth"] if has_growth else []), "set", "tenant", ">messages"]
    tenants = format_count(max(len(result.tenants) for _, result in found), "tenant")
    return Group(
        make_table(*columns, ">p50", ">p95", ">p99", ">longest", ">fairness", rows=rows),
        f"Waits from due to start: of all tenants, and of the {MAX_TENANTS} of {tenants} with the longest waits.\n"
        "Fairness: Jain's index of all tenants with a backlog. For a tenant: its turns divided by the turns of the "
        "others.",
    )


def format_index(value: float | None) -> str:
    """A share or an index; a dash without a backlog."""
    return NOTHING if value is None else f"{value:.2f}"


def format_waits(waits: WaitStats) -> list[object]:
    """The number of messages and their waits."""
    times = (waits.p50, waits.p95, waits.p99, waits.longest)
    return [waits.messages, *(format_duration(each) for each in times)]

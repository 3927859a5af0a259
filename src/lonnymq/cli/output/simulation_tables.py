"""What `lonnymq simulate` shows: the calibration, and the waits of each scenario; as tables and as a document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lonnymq.cli.output.console import rows, table
from lonnymq.cli.output.formatting import NOTHING, at, counted
from lonnymq.text import format_duration

if TYPE_CHECKING:
    from lonnymq.simulate import Calibration, ReplayResult, Trial, WaitStats
    from lonnymq.simulate.lake_reader import LakeHistory

WORST = 3  # tenants shown with each scenario
PERCENTILES = ("p50", "p95", "p99")


def about(stretch: LakeHistory) -> str:
    """Which history it is, in a sentence."""
    work = stretch.history.work
    return (
        f"{stretch.source}, {at(stretch.begin)} to {at(stretch.end)}: {counted(len(work), 'attempt')} "
        f"of {counted(len(work.names), 'tenant')}, at most {stretch.history.max_concurrent:,} at once"
    )


def calibration_shown(stretch: LakeHistory, known: Calibration, most_off: float) -> Any:
    """What was recorded beside what the replay makes of it."""
    from rich.console import Group

    made = table("", ">p50", ">p95", ">p99")
    for name, each in (("recorded", known.recorded), ("replayed", known.replayed)):
        rows(made, [[name, *(format_duration(getattr(each, part)) for part in PERCENTILES)]])
    rows(made, [["off by", *(f"{known.error_of(part):.0%}" for part in PERCENTILES)]])
    words = [
        f"At the recorded settings the replay is off by {known.error:.0%}; up to {most_off:.0%} is allowed."
    ]
    words += [
        f"While this was recorded {each}: it is replayed as it was before."
        for each in stretch.changed
    ]
    return Group(f"{about(stretch)}.", made, *words)  # fmt: skip


def calibration_fields(stretch: LakeHistory, known: Calibration) -> dict[str, Any]:
    """The same as a document."""
    return {
        "source": stretch.source,
        "begin": stretch.begin,
        "end": stretch.end,
        "workers": stretch.scenario.workers,
        "attempts": len(stretch.history.work),
        "most_at_once": stretch.history.max_concurrent,
        "changed": stretch.changed,
        "recorded": known.recorded,
        "replayed": known.replayed,
        "off": known.error,
    }


def scenario_fields(trial: Trial, given: ReplayResult) -> dict[str, Any]:
    """One answer as a document."""
    return {
        "workers": trial.scenario.workers,
        "growth": trial.growth,
        "set": [str(each) for each in trial.changes],
        "all": given.all,
        "fairness": given.fairness,
        "tenants": given.tenants,
        "shares": given.shares,
    }


def shown(found: list[tuple[Trial, ReplayResult]]) -> Any:
    """Answers as people read them: all tenants together, and those who waited longest."""
    from rich.console import Group

    grows = any(trial.growth != 1 for trial, _ in found)
    first = ["workers", *(["growth"] if grows else []), "set", "who"]
    made = table(*first, ">messages", ">p50", ">p95", ">p99", ">longest", ">even")
    for trial, given in found:
        times = [f"{trial.growth:g}"] if grows else []
        head = [trial.scenario.workers, *times, trial.description, "all"]
        rows(made, [[*head, *waits(given.all), even(given.fairness)]])
        worst = sorted(given.tenants.items(), key=lambda each: (-each[1].p99, each[0]))
        blank = [""] * (len(head) - 1)
        for name, own in worst[:WORST]:
            rows(made, [[*blank, name, *waits(own), even(given.shares.get(name))]])
    many = counted(max(len(given.tenants) for _, given in found), "tenant")
    last = (
        f"Waits from being due to being begun: of all, and of those {WORST} of {many} that waited longest.\n"
        "Even: of all, Jain's index of those who had a backlog; of one, its turns beside the others', 1 is as many."
    )
    return Group(made, last)


def even(value: float | None) -> str:
    """A share or an index; a dash where there was no backlog to share the turns."""
    return NOTHING if value is None else f"{value:.2f}"


def waits(given: WaitStats) -> list[object]:
    """One line of waits."""
    times = (given.p50, given.p95, given.p99, given.longest)
    return [given.messages, *(format_duration(each) for each in times)]

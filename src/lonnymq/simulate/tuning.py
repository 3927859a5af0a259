"""Searches for the cheapest settings that meet objectives: replays history under settings, and moves to better ones.

The search sees the first part of the history. The rest is held back, and shows how well the answer carries over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lonnymq.errors import LonnyMQError
from lonnymq.simulate.objective import (
    ALL,
    FAIRNESS,
    LAST_START,
    Classes,
    Measured,
    Objective,
    fewest_messages,
    find_members,
    measure_objectives,
)
from lonnymq.simulate.replay import TOLERANCE_MS, ReplayInaccurate, replay
from lonnymq.simulate.scenario import Scenario
from lonnymq.simulate.search import REST, Evaluate, Search, TunedGroup
from lonnymq.simulate.sweep import run_on_spark
from lonnymq.simulate.workload import RecordedWorkload, ReplayTimes, Workload
from lonnymq.text import format_count

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MAX_HEAVY = 3  # channels that get settings of their own because they send much
HEAVY_SHARE = 0.2
MAX_LONGER = 0.05  # how much longer all work may take than at the recorded settings
HELD_BACK = 0.3  # share of the messages of a history of less than three days
DAY_MS = 86_400_000

MakeEvaluate = Callable[
    [RecordedWorkload, Sequence[Objective], Sequence[Sequence[str]], Mapping[str, int]], Evaluate
]


class TooLittleHistory(LonnyMQError):
    """Choose a longer period, or another objective."""


@dataclass(frozen=True, slots=True)
class ObjectiveAnswer:
    """An objective: as recorded, replayed at the recorded settings, and at the answer's, searched and held back."""

    objective: Objective
    recorded: Measured
    replayed: Measured
    tuned: Measured
    held_back: Measured

    @property
    def is_met(self) -> bool:
        """Whether the part that was searched meets the objective."""
        return self.tuned.value is not None and self.objective.is_met(self.tuned.value)

    @property
    def holds(self) -> bool:
        """Whether the part that was held back meets the objective too."""
        return self.held_back.value is not None and self.objective.is_met(self.held_back.value)


@dataclass(frozen=True, slots=True)
class Tuning:
    """The answer of a search: the settings, what each objective would have been, and how much was replayed."""

    scenario: Scenario
    settings: list[tuple[TunedGroup, dict[str, int | None]]]
    answers: list[ObjectiveAnswer]
    cut_at: int
    replays: int
    keeps_up: bool
    enough_workers: int | None = None

    @property
    def is_met(self) -> bool:
        """Whether all objectives are met in the part that was searched."""
        return all(each.is_met for each in self.answers)

    @property
    def holds(self) -> bool:
        """Whether all objectives are met in the held-back part as well."""
        return self.is_met and self.keeps_up and all(each.holds for each in self.answers)


def tune(
    history: RecordedWorkload,
    known: Scenario,
    objectives: Sequence[Objective],
    *,
    workers: tuple[int, int] | None = None,
    classes: Classes | None = None,
    margin: float = 0.1,
    max_error: float = 0.25,
    max_replays: int = 1000,
    make_evaluate: MakeEvaluate | None = None,
) -> Tuning:
    """Find the cheapest settings that meet the objectives: the fewest workers, then the fewest changes.

    `workers` are the fewest and the most to try. The search aims at the objectives with a margin, as a share.
    Raises TooLittleHistory or ReplayInaccurate if the history cannot carry the answer.
    """
    members = [find_members(each.group, history.work.names, classes or {}) for each in objectives]
    cut_at = find_cut(history)
    parts = split_counted(history, cut_at)

    weights = known.weights(history.work.names)  # what is fair is what the recorded weights say

    def measure(times: ReplayTimes) -> list[list[Measured]]:
        return [
            measure_objectives(
                history.work, times, objectives, members, counted=part, weights=weights
            )
            for part in parts
        ]

    recorded = measure(history.times)
    check_history(objectives, members, recorded)
    now = replay_scenario(history.work, known)
    replayed = measure(now)
    check_replay(objectives, recorded[0], replayed[0], max_error)

    searched = cut_history(history, cut_at)
    limit = limit_duration(searched.work, replay_scenario(searched.work, known))
    wanted, of = [*objectives, limit], [*members, list(history.work.names)]
    evaluate = (make_evaluate or evaluate_here)(searched, wanted, of, weights)
    groups = find_groups(history.work, objectives, classes or {})
    search = Search(known, groups, wanted, evaluate, margin, max_replays)
    best = search.run(*(workers or (1, known.workers)))
    enough = None if search.seen[best] == 0 else search.find_enough_workers(best)

    scenario = search.to_scenario(best)
    times = replay_scenario(history.work, scenario)
    tuned, held_back = measure(times)
    answers = [
        ObjectiveAnswer(*each)
        for each in zip(objectives, recorded[0], replayed[0], tuned, held_back, strict=True)
    ]
    longest = limit_duration(history.work, now).bound
    return Tuning(
        scenario, search.to_settings(best), answers, cut_at, len(search.seen),
        limit_duration(history.work, times, 0).bound <= longest, enough,
    )  # fmt: skip


def limit_duration(work: Workload, times: ReplayTimes, longer: float = MAX_LONGER) -> Objective:
    """The objective that all work is done about as soon: settings must not starve those that have no objective."""
    lasted = max(times.started_at, default=0) - min(work.created_at, default=0)
    return Objective(ALL, LAST_START, lasted * (1 + longer) + TOLERANCE_MS)


def check_replay(
    objectives: Sequence[Objective],
    recorded: Sequence[Measured],
    replayed: Sequence[Measured],
    max_error: float,
) -> None:
    """Raise if a replay at the recorded settings is not what was recorded."""
    for objective, was, is_now in zip(objectives, recorded, replayed, strict=True):
        error = relative_error(objective, was, is_now)
        if error > max_error:
            raise ReplayInaccurate(
                f"{str(objective)!r}: the replay at the recorded settings is off by {error:.0%}, more than "
                f"{max_error:.0%}: {objective.format(was.value)} recorded and {objective.format(is_now.value)} "
                f"replayed. Results for other settings would be as inaccurate. {ReplayInaccurate.__doc__}"
            )


def relative_error(objective: Objective, recorded: Measured, replayed: Measured) -> float:
    """The difference to the recorded value. Waits may differ by TOLERANCE_MS."""
    if recorded.value is None or replayed.value is None:
        return 0.0
    difference, least = abs(replayed.value - recorded.value), 0.01
    if objective.measure != FAIRNESS:
        least = TOLERANCE_MS
        difference = 0.0 if difference <= TOLERANCE_MS else difference
    return difference / max(recorded.value, least)


def evaluate_here(
    history: RecordedWorkload,
    objectives: Sequence[Objective],
    members: Sequence[Sequence[str]],
    weights: Mapping[str, int],
) -> Evaluate:
    """Replays scenarios one after the other, in this process."""
    return lambda scenarios: [
        evaluate_scenario(history, each, objectives, members, weights) for each in scenarios
    ]


def evaluate_on_spark(
    spark: SparkSession,
    history: RecordedWorkload,
    objectives: Sequence[Objective],
    members: Sequence[Sequence[str]],
    weights: Mapping[str, int],
) -> Evaluate:
    """Replays scenarios on Spark, each as a task."""

    def run(work: RecordedWorkload, scenario: Scenario) -> list[Measured]:  # on an executor
        return evaluate_scenario(work, scenario, objectives, members, weights)

    return lambda scenarios: run_on_spark(spark, history, scenarios, run)


def evaluate_scenario(
    history: RecordedWorkload,
    scenario: Scenario,
    objectives: Sequence[Objective],
    members: Sequence[Sequence[str]],
    weights: Mapping[str, int],
) -> list[Measured]:
    """Replay a scenario, and measure the objectives."""
    times = replay_scenario(history.work, scenario)
    return measure_objectives(
        history.work, times, objectives, members, counted=history.counted, weights=weights
    )


def replay_scenario(work: Workload, scenario: Scenario) -> ReplayTimes:
    """Replay a workload under a scenario."""
    return replay(
        work, scenario.limits, workers=scenario.workers,
        max_concurrency=scenario.max_concurrency, default_limits=scenario.default_limits,
        processes=scenario.processes, settle_ms=scenario.settle_ms,
    )  # fmt: skip


def find_groups(
    work: Workload, objectives: Sequence[Objective], classes: Classes
) -> list[TunedGroup]:
    """The groups that get settings: the classes, the channels that send most, and all other channels."""
    left, found = set(work.names), []
    names = dict.fromkeys([*classes, *(each.group for each in objectives if each.group != ALL)])
    for name in names:
        channels = find_members(name, left, classes)
        if channels:
            found.append(TunedGroup(name, tuple(channels)))
            left -= set(channels)
    share: Counter[str] = Counter()
    for number, service in zip(work.channel, work.service_ms, strict=True):
        share[work.names[number]] += service + 1
    total = share.total()
    heavy = [
        name for name, spent in share.most_common() if name in left and spent >= HEAVY_SHARE * total
    ]
    for name in heavy[:MAX_HEAVY]:
        if len(left) > 1:
            found.append(TunedGroup(name, (name,)))
            left.discard(name)
    if left:
        found.append(TunedGroup(REST, tuple(sorted(left))))
    return found


def find_cut(history: RecordedWorkload) -> int:
    """Where the held-back part begins: the last third of the days, or of a shorter history the last 30% of messages."""
    work = history.work
    numbers = range(len(work)) if history.counted is None else history.counted
    moments = sorted(max(work.due_at[each], work.created_at[each]) for each in numbers)
    first, last = moments[0], moments[-1]
    days = last // DAY_MS - first // DAY_MS + 1
    if days >= 3:
        return (last // DAY_MS + 1 - days // 3) * DAY_MS
    return moments[int(len(moments) * (1 - HELD_BACK))]


def split_counted(history: RecordedWorkload, cut_at: int) -> tuple[list[int], list[int]]:
    """The attempts that became ready before the cut, and the others."""
    work = history.work
    parts: tuple[list[int], list[int]] = ([], [])
    for number in range(len(work)) if history.counted is None else history.counted:
        moment = max(work.due_at[number], work.created_at[number])
        parts[moment >= cut_at].append(number)
    return parts


def cut_history(history: RecordedWorkload, cut_at: int) -> RecordedWorkload:
    """The history before the cut."""
    work = history.work
    kept: dict[int, int] = {}
    for number, created in enumerate(work.created_at):
        before = work.after.get(number)
        if created < cut_at and (before is None or before[0] in kept):
            kept[number] = len(kept)
    columns = (work.channel, work.created_at, work.due_at, work.service_ms)
    channel, created_at, due_at, service_ms = ([each[at] for at in kept] for each in columns)
    after = {kept[at]: (kept[first], gap) for at, (first, gap) in work.after.items() if at in kept}
    cut = Workload(work.names, channel, created_at, due_at, service_ms, after)
    counted = None if history.counted is None else [
        kept[each] for each in history.counted if each in kept
    ]  # fmt: skip
    return RecordedWorkload(cut, ReplayTimes([], []), history.max_concurrent, counted)


def check_history(
    objectives: Sequence[Objective],
    members: Sequence[Sequence[str]],
    measured: Sequence[Sequence[Measured]],
) -> None:
    """Raise if a class has no messages, or too few in the searched or in the held-back part."""
    for number, objective in enumerate(objectives):
        if not members[number]:
            raise TooLittleHistory(
                f"{str(objective)!r}: the history has no messages of {objective.group!r}. Name a channel, "
                "a prefix like 'gold-*', or a class with --class"
            )
        for part, where in zip(measured, ("searched", "held-back"), strict=True):
            if part[number].value is None:
                raise TooLittleHistory(
                    f"{str(objective)!r}: the {where} part of the history has "
                    f"{format_count(part[number].messages, 'message')} of {objective.group!r}, but "
                    f"{objective.measure} needs {fewest_messages(objective)}. {TooLittleHistory.__doc__}"
                )

"""A sweep: runs many scenarios over one workload, here or on Spark with one task per trial."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from threading import Event
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from lonnymq.simulate.replay import run_scenario
from lonnymq.simulate.result import ReplayResult
from lonnymq.simulate.scenario import Scenario, Setting
from lonnymq.simulate.workload import RecordedWorkload, ReplayTimes, Workload

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

POLL_SECONDS = 0.2
Item = TypeVar("Item")
Result = TypeVar("Result")
unpacked: dict[str, RecordedWorkload] = {}  # of the last sweep, in a process of an executor


@dataclass(frozen=True, slots=True)
class Trial:
    """A scenario with its changed settings and its factor for the number of messages."""

    scenario: Scenario
    changes: tuple[Setting, ...] = ()
    growth: float = 1

    @property
    def description(self) -> str:
        """The changed settings, as on a command line."""
        return " ".join(map(str, self.changes)) or "unchanged"


def make_trials(
    known: Scenario,
    *,
    workers: Iterable[int],
    changes: Sequence[Sequence[Setting]] = (),
    growth: Iterable[float] = (1,),
) -> list[Trial]:
    """All combinations of growth, workers and settings, each also without changes."""
    chosen = [()] + [each for each in product(*changes) if each]
    return [
        Trial(replace(known, workers=many).with_settings(each), each, times)
        for times, many, each in product(growth, workers, chosen)
    ]


def run_trials(
    history: RecordedWorkload,
    trials: Iterable[Trial],
    *,
    seed: int = 1,
    on_progress: Callable[[], object] = lambda: None,
) -> list[ReplayResult]:
    """The results of all trials, in their order; `on_progress` is called after each."""
    found = []
    for each in trials:
        found.append(run_scenario(history, each.scenario, growth=each.growth, seed=seed))
        on_progress()
    return found


def run_trials_on_spark(
    spark: SparkSession,
    history: RecordedWorkload,
    trials: Sequence[Trial],
    *,
    seed: int = 1,
    on_progress: Callable[[int], object] = lambda done: None,
) -> list[ReplayResult]:
    """The same results as `run_trials`; `on_progress` is called with the number of finished trials."""
    from lonnymq.spark.connect import require_classic

    require_classic(spark, "a sweep", "call run_trials, or use lonnymq simulate --spark never")

    def run_trial(history: RecordedWorkload, trial: Trial) -> ReplayResult:  # on an executor
        return run_scenario(history, trial.scenario, growth=trial.growth, seed=seed)

    order = order_trials(trials)
    found = run_on_spark(
        spark, history, [trials[each] for each in order], run_trial, on_progress=on_progress
    )
    given = dict(zip(order, found, strict=True))
    return [given[place] for place in range(len(trials))]


def run_on_spark(
    spark: SparkSession,
    history: RecordedWorkload,
    items: Sequence[Item],
    run_item: Callable[[RecordedWorkload, Item], Result],
    *,
    on_progress: Callable[[int], object] = lambda done: None,
) -> list[Result]:
    """The results of `run_item(history, item)`, in the order of the items, each as a task of Spark."""
    if not items:
        return []
    from pyspark import InheritableThread

    from lonnymq.spark.connect import require_classic

    require_classic(spark, "a sweep", "call run_trials, or use lonnymq simulate --spark never")
    context = spark.sparkContext
    sent = context.broadcast(pack_workload(history))
    group, ended = f"lonnymq sweep {uuid4()}", Event()
    found: list[Result] = []
    wrong: list[BaseException] = []

    def run_task(item: Item) -> Result:  # on an executor
        return run_item(unpack_once(group, sent), item)

    def run() -> None:  # beside this thread, which looks how far it is
        try:
            context.setJobGroup(group, f"{len(items)} scenarios", interruptOnCancel=True)
            found.extend(context.parallelize(items, len(items)).map(run_task).collect())
        except BaseException as error:
            wrong.append(error)
        finally:
            ended.set()

    thread = InheritableThread(target=run)
    thread.start()
    try:
        most = 0
        while not ended.wait(POLL_SECONDS):
            most = max(most, count_done_tasks(context, group))
            on_progress(most)
    except BaseException:
        context.cancelJobGroup(group)
        raise
    finally:
        thread.join()
        sent.destroy()
    if wrong:
        raise wrong[0]
    on_progress(len(items))
    return found


def order_trials(trials: Sequence[Trial]) -> list[int]:
    """The places of trials, those first that take longest: what is short fills what is left at the end.

    A trial takes as long as it has messages, and about half as long again where channels have limits.
    """

    def length(place: int) -> float:
        scenario = trials[place].scenario
        limits = (scenario.default_limits, *scenario.limits.values())
        is_limited = any(each.max_concurrency or each.min_interval_ms for each in limits)
        return trials[place].growth * (1.5 if is_limited else 1)

    return sorted(range(len(trials)), key=length, reverse=True)


def count_done_tasks(context: Any, group: str) -> int:
    """How many tasks of a group of jobs have ended."""
    tracker = context.statusTracker()
    jobs = [tracker.getJobInfo(each) for each in tracker.getJobIdsForGroup(group)]
    stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
    return sum(stage.numCompletedTasks for stage in stages if stage)


def pack_workload(history: RecordedWorkload) -> tuple[Any, ...]:
    """What a replay needs of history, in a few large pieces: numbers by the million are slow to send one by one."""
    work = history.work
    columns = (work.channel, work.created_at, work.due_at, work.service_ms)
    after = [(number, *each) for number, each in work.after.items()]
    return (
        list(work.names),
        [array("q", column) for column in columns],
        [array("q", column) for column in zip(*after, strict=True)] if after else [],
        None if history.counted is None else array("q", history.counted),
    )


def unpack_workload(sent: tuple[Any, ...]) -> RecordedWorkload:
    """The history that was packed; how it went stays behind."""
    names, columns, after, counted = sent
    follows = {number: (first, gap) for number, first, gap in zip(*after, strict=True)}
    channel, created_at, due_at, service_ms = (column.tolist() for column in columns)
    work = Workload(names, channel, created_at, due_at, service_ms, follows)
    return RecordedWorkload(
        work, ReplayTimes([], []), 0, None if counted is None else counted.tolist()
    )


def unpack_once(key: str, sent: Any) -> RecordedWorkload:
    """The history of a broadcast: a process of an executor unpacks the history once for all its tasks."""
    if key not in unpacked:
        unpacked.clear()
        unpacked[key] = unpack_workload(sent.value)
    return unpacked[key]

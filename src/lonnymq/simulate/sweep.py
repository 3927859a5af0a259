"""Many scenarios over one workload: every number of workers with every setting and every growth, one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product

from lonnymq.simulate.calibration import play
from lonnymq.simulate.result import Answer
from lonnymq.simulate.scenario import Scenario, Setting
from lonnymq.simulate.workload import Recorded


@dataclass(frozen=True, slots=True)
class Trial:
    """A scenario that is tried: what is set that was not so, and how many times the messages come."""

    scenario: Scenario
    changes: tuple[Setting, ...] = ()
    growth: float = 1

    @property
    def words(self) -> str:
        """What is set, as it is written on a command line."""
        return " ".join(map(str, self.changes)) or "nothing"


def trials(
    known: Scenario,
    *,
    workers: Iterable[int],
    changes: Sequence[Sequence[Setting]] = (),
    growth: Iterable[float] = (1,),
) -> list[Trial]:
    """Every growth with every number of workers, with nothing set and with every choice of one value a setting."""
    chosen = [()] + [each for each in product(*changes) if each]
    return [
        Trial(one_with(known, many).with_settings(each), each, times)
        for times, many, each in product(growth, workers, chosen)
    ]


def one_with(known: Scenario, workers: int) -> Scenario:
    """The scenario with another number of workers."""
    return Scenario(workers, known.limits, known.otherwise, known.max_concurrency)


def sweep(
    history: Recorded,
    asked: Iterable[Trial],
    *,
    seed: int = 1,
    tell: Callable[[], object] = lambda: None,
) -> list[Answer]:
    """The answers to all trials, in their order; `tell` is called after each."""
    found = []
    for each in asked:
        found.append(play(history, each.scenario, growth=each.growth, seed=seed))
        tell()
    return found

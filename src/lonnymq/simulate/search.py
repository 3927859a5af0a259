"""The search of `tune`: from the recorded settings to better neighbours, with fewer and fewer workers."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import log1p

from lonnymq.simulate.objective import LAST_START, Measured, Objective
from lonnymq.simulate.scenario import Scenario, Setting

REST = "all other channels"
KEEP = 0  # as recorded: no legal value of a setting is 0
WEIGHTS = (1, 2, 3, 5, 8, 13, 20, 50, 100)
NO_LIMIT = 1 << 31
DONE_FIRST = 100  # how much more it counts that the work gets done at all
MAX_ROUNDS = 12
MORE_WORKERS = (1.25, 1.5, 2, 3)

Evaluate = Callable[[Sequence[Scenario]], list[list[Measured]]]


@dataclass(frozen=True, slots=True)
class TunedGroup:
    """Channels that get the same settings."""

    name: str
    channels: tuple[str, ...]

    @property
    def is_rest(self) -> bool:
        """Whether these are the channels of no class: new channels get their settings too."""
        return self.name == REST


@dataclass(frozen=True, slots=True)
class Candidate:
    """Settings to try: workers, and weight and max_concurrency of each group. KEEP is as recorded."""

    workers: int
    weights: tuple[int, ...]
    limits: tuple[int, ...]

    @property
    def changes(self) -> int:
        """How many settings differ from the recorded settings."""
        return sum(each != KEEP for each in (*self.weights, *self.limits))


@dataclass
class Search:
    """A search over candidates: remembers what was tried, and how far each candidate is from the objectives."""

    known: Scenario
    groups: Sequence[TunedGroup]
    objectives: Sequence[Objective]
    evaluate: Evaluate
    margin: float
    budget: int
    seen: dict[Candidate, float] = field(default_factory=dict)

    def score(self, candidates: Sequence[Candidate]) -> None:
        """Replay the candidates that were not tried yet, as far as the budget goes."""
        new = [each for each in dict.fromkeys(candidates) if each not in self.seen]
        new = new[: max(0, self.budget - len(self.seen))]
        if not new:
            return
        found = self.evaluate([self.to_scenario(each) for each in new])
        for candidate, measured in zip(new, found, strict=True):
            self.seen[candidate] = self.distance(measured)

    def distance(self, measured: Sequence[Measured]) -> float:
        """0 if all objectives are met with the margin, else the sum of how far each is missed."""
        return sum(
            (DONE_FIRST if objective.measure == LAST_START else 1)
            * log1p(objective.excess(each.value, self.margin))
            for objective, each in zip(self.objectives, measured, strict=True)
            if each.value is not None
        )

    def improve(self, start: Candidate) -> Candidate:
        """Move from neighbour to neighbour until the objectives are met, or no neighbour is better."""
        self.score([start])
        best = start
        for _ in range(MAX_ROUNDS):
            if self.seen.get(best, 1) == 0:
                break
            near = list(self.neighbours(best))
            self.score(near)
            tried = [each for each in near if each in self.seen]
            better = min(tried, key=self.rank, default=best)
            if better not in self.seen or self.seen[better] >= self.seen.get(best, NO_LIMIT):
                break
            best = better
        return best

    def rank(self, candidate: Candidate) -> tuple[float, int, int]:
        """The order of candidates: closest to the objectives, then fewest workers, then fewest changes."""
        return self.seen[candidate], candidate.workers, candidate.changes

    def neighbours(self, candidate: Candidate) -> Iterator[Candidate]:
        """Candidates in which one setting of one group is another."""
        ladder = limit_ladder(candidate.workers)
        for number, group in enumerate(self.groups):
            now = self.current(candidate, number, group)
            for value in steps(WEIGHTS, now[0], (-3, -1, 1, 3)):
                yield replace(candidate, weights=put(candidate.weights, number, value))
            for value in steps(ladder, now[1], (-2, -1, 1, 2)):
                yield replace(candidate, limits=put(candidate.limits, number, value))

    def current(self, candidate: Candidate, number: int, group: TunedGroup) -> tuple[int, int]:
        """Weight and limit of a group; as recorded those that most of its channels have."""
        own = [self.known.limits.get(each, self.known.default_limits) for each in group.channels]
        limits = Counter(each.max_concurrency or NO_LIMIT for each in own)
        weights = Counter(each.weight for each in own)
        return (
            candidate.weights[number] or max(weights, key=weights.__getitem__),
            candidate.limits[number] or max(limits, key=limits.__getitem__),
        )

    def to_scenario(self, candidate: Candidate) -> Scenario:
        """The scenario of a candidate."""
        settings = [
            Setting(channel, option, value)
            for group, options in self.to_settings(candidate)
            for option, value in options.items()
            for channel in group.channels
        ]
        return replace(self.known, workers=candidate.workers).with_settings(settings)

    def to_settings(self, candidate: Candidate) -> list[tuple[TunedGroup, dict[str, int | None]]]:
        """The changed settings of each group."""
        found = []
        for number, group in enumerate(self.groups):
            options: dict[str, int | None] = {}
            if candidate.weights[number] != KEEP:
                options["weight"] = candidate.weights[number]
            if (limit := candidate.limits[number]) != KEEP:
                options["max_concurrency"] = None if limit == NO_LIMIT else limit
            if options:
                found.append((group, options))
        return found

    def run(self, fewest: int, most: int) -> Candidate:
        """The candidate with the fewest workers that meets the objectives, then with the fewest changes.

        If none does, the closest one.
        """
        nothing = tuple(KEEP for _ in self.groups)
        best = self.improve(Candidate(most, nothing, nothing))
        if self.seen[best] > 0:
            return best
        least = fewest
        while least < best.workers:  # fewer workers, from the settings that were enough for more
            middle = (least + best.workers) // 2
            starts = [replace(best, workers=middle), Candidate(middle, nothing, nothing)]
            self.score(starts)
            start = min((each for each in starts if each in self.seen), key=self.rank, default=None)
            found = None if start is None else self.improve(start)
            if found is not None and self.seen[found] == 0:
                best = found
            else:
                least = middle + 1
        return self.simplify(best)

    def simplify(self, best: Candidate) -> Candidate:
        """Take back each change that is not needed."""
        while True:
            places = range(len(self.groups))
            fewer = [
                *(replace(best, weights=put(best.weights, at, KEEP)) for at in places),
                *(replace(best, limits=put(best.limits, at, KEEP)) for at in places),
            ]
            fewer = [each for each in fewer if each != best]
            self.score(fewer)
            enough = [each for each in fewer if self.seen.get(each) == 0]
            if not enough:
                return best
            best = enough[0]

    def find_enough_workers(self, best: Candidate) -> int | None:
        """How many workers would meet the objectives, with the closest or with the recorded settings."""
        nothing = tuple(KEEP for _ in self.groups)
        many = [round(best.workers * by) + 1 for by in MORE_WORKERS]
        tries = [
            each
            for workers in many
            for each in (replace(best, workers=workers), Candidate(workers, nothing, nothing))
        ]
        self.budget += len(tries)
        self.score(tries)
        return next((each.workers for each in tries if self.seen.get(each) == 0), None)


def put(values: tuple[int, ...], number: int, value: int) -> tuple[int, ...]:
    """The values with another value at a place."""
    return (*values[:number], value, *values[number + 1 :])


def steps(ladder: Sequence[int], now: int, moves: Sequence[int]) -> list[int]:
    """The values some steps up and down a ladder."""
    at = min(bisect_left(ladder, now), len(ladder) - 1)
    places = dict.fromkeys(max(0, min(len(ladder) - 1, at + move)) for move in moves)
    return [ladder[place] for place in places if ladder[place] != now]


def limit_ladder(workers: int) -> list[int]:
    """The values of max_concurrency to try: parts of the workers, and no limit."""
    parts = {max(1, workers * part // 24) for part in (1, 2, 3, 4, 6, 8, 12, 18)}
    return [*sorted(parts), NO_LIMIT]

"""Objectives like `gold: p99 wait <= 5s`: read from text, and measured on the times of a replay."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lonnymq.errors import InvalidArgument
from lonnymq.simulate.result import measure_fairness
from lonnymq.simulate.workload import ReplayTimes, Workload
from lonnymq.text import NOTHING, format_duration, parse_duration

ALL = "all"
FAIRNESS = "fairness"
LAST_START = (
    "last start"  # from the first message to the start of the last one: whether the work gets done
)
BEYOND = 5  # messages that must have waited longer than a percentile
# The share of messages in thousandths that waits at most that long, and the fewest messages that can tell.
WAITS = {
    "p50 wait": (500, 2 * BEYOND),
    "p95 wait": (950, 20 * BEYOND),
    "p99 wait": (990, 100 * BEYOND),
    "longest wait": (1000, 1),
}
OBJECTIVE = re.compile(
    rf"(?P<group>.+):\s*(?P<measure>{'|'.join(WAITS)}|{FAIRNESS})\s*(?P<sign>[<>]=)\s*(?P<bound>.+)"
)
Classes = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Objective:
    """A bound for the waits of each tenant of a class, in milliseconds, or for the fairness between its tenants."""

    group: str
    measure: str
    bound: float

    def __str__(self) -> str:
        """The objective as on a command line."""
        sign = ">=" if self.measure == FAIRNESS else "<="
        return f"{self.group}: {self.measure} {sign} {self.format(self.bound)}"

    def format(self, value: float | None) -> str:
        """A measured value for people."""
        if value is None:
            return NOTHING
        return f"{value:.2f}" if self.measure == FAIRNESS else format_duration(value)

    def is_met(self, value: float) -> bool:
        """Whether a value is within the bound."""
        return self.excess(value) <= 0

    def excess(self, value: float, margin: float = 0) -> float:
        """How far a value is beyond the bound, relative to the bound. A margin makes the bound tighter."""
        if self.measure == FAIRNESS:
            bound = self.bound + (1 - self.bound) * margin
            return max(0.0, bound - value) / max(bound, 0.01)
        bound = self.bound * (1 - (0 if self.measure == LAST_START else margin))
        return max(0.0, value - bound) / max(bound, 1)


def parse_objective(text: str) -> Objective:
    """Read `gold: p99 wait <= 5s` or `all: fairness >= 0.95`."""
    found = OBJECTIVE.fullmatch(text.strip())
    if found is None:
        raise InvalidArgument(
            f"{text!r} is not an objective: write 'gold: p99 wait <= 5s' or 'all: fairness >= 0.95'. "
            f"There are {', '.join(WAITS)} and {FAIRNESS}"
        )
    group, measure, bound = found["group"].strip(), found["measure"], found["bound"].strip()
    sign = ">=" if measure == FAIRNESS else "<="
    if found["sign"] != sign:
        raise InvalidArgument(f"{text!r}: write {measure} {sign} {bound}")
    try:
        value = float(bound) if measure == FAIRNESS else parse_duration(bound)
    except ValueError:
        value = -1
    if measure == FAIRNESS and not 0 < value <= 1:
        raise InvalidArgument(
            f"{text!r}: {FAIRNESS} must be a number above 0, at most 1, not {bound!r}"
        )
    if value <= 0:
        raise InvalidArgument(
            f"{text!r}: the wait must be a duration like 250ms, 5s or 1m, not {bound!r}"
        )
    return Objective(group, measure, value)


def parse_class(text: str) -> tuple[str, list[str]]:
    """Read `gold=acme,globex,eu-*`, or `gold=@gold.txt`, a file with a channel or a prefix per line."""
    name, equals, value = text.partition("=")
    if not (name.strip() and equals and value.strip()) or name.strip() == ALL:
        raise InvalidArgument(
            f"{text!r} is not a class of tenants: write gold=acme,globex, gold=eu-* for a prefix, or gold=@FILE"
        )
    if not value.startswith("@"):
        patterns = value.split(",")
    else:
        try:
            patterns = Path(value[1:]).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidArgument(f"{text!r}: {value[1:]} cannot be read: {error}") from None
    return name.strip(), [each.strip() for each in patterns if each.strip()]


def find_members(group: str, channels: Iterable[str], classes: Classes) -> list[str]:
    """The channels of a class. A name that is no class is a channel itself, or a prefix that ends with `*`."""
    if group == ALL:
        return sorted(channels)
    patterns = classes.get(group, [group])
    exact = {each for each in patterns if not each.endswith("*")}
    prefixes = tuple(each[:-1] for each in patterns if each.endswith("*"))
    return sorted(each for each in channels if each in exact or each.startswith(prefixes))


@dataclass(frozen=True, slots=True)
class Measured:
    """The value of an objective, and how many messages it stands on. Without enough messages the value is None."""

    value: float | None
    messages: int


def measure_objectives(
    work: Workload,
    times: ReplayTimes,
    objectives: Sequence[Objective],
    members: Sequence[Sequence[str]],
    *,
    counted: Sequence[int] | None = None,
    weights: Mapping[str, int] | None = None,
) -> list[Measured]:
    """The value of each objective over the attempts in `counted`. `members` are the channels of each objective."""
    numbers = range(len(work)) if counted is None else counted
    created, due, started, channel = work.created_at, times.due_at, times.started_at, work.channel
    waits: list[list[int]] = [[] for _ in work.names]
    starts: list[list[int]] = [[] for _ in work.names]
    for number in numbers:
        came = due[number] if due[number] > created[number] else created[number]
        waits[channel[number]].append(started[number] - came)
        starts[channel[number]].append(started[number])
    place = {name: number for number, name in enumerate(work.names)}
    found = []
    for objective, names in zip(objectives, members, strict=True):
        chosen = [place[name] for name in names if name in place]
        own = [waits[each] for each in chosen]
        if objective.measure == LAST_START:
            value = measure_last_start(work, [starts[each] for each in chosen])
        elif objective.measure == FAIRNESS:
            heavy = [(weights or {}).get(work.names[each], 1) for each in chosen]
            value = measure_group_fairness(heavy, own, [starts[each] for each in chosen])
        else:
            value = measure_waits(objective.measure, own)
        found.append(Measured(value, sum(map(len, own))))
    return found


def measure_last_start(work: Workload, starts: Sequence[list[int]]) -> float | None:
    """The time from the first message to the start of the last message."""
    last = max((max(own) for own in starts if own), default=None)
    return None if last is None else float(last - min(work.created_at))


def measure_group_fairness(
    weights: Sequence[int], waits: Sequence[list[int]], starts: Sequence[list[int]]
) -> float | None:
    """Jain's index between these tenants. Without a backlog every tenant has what it asked for: 1."""
    if not any(waits):
        return None
    tenant = [number for number, own in enumerate(waits) for _ in own]
    began = [at for own in starts for at in own]
    waited = [each for own in waits for each in own]
    even, _ = measure_fairness(weights, tenant, began, waited)
    return 1.0 if even is None else even


def measure_waits(measure: str, waits: Sequence[list[int]]) -> float | None:
    """The wait of the tenant that waits longest. Tenants with too few messages count together, as a tenant."""
    share, fewest = WAITS[measure]
    alone = [own for own in waits if len(own) >= fewest]
    together = [each for own in waits if len(own) < fewest for each in own]
    if len(together) >= fewest:
        alone.append(together)
    if not alone:
        return None
    return float(max(sorted(own)[min(len(own) - 1, len(own) * share // 1000)] for own in alone))


def fewest_messages(objective: Objective) -> int:
    """How many messages a class needs, so that the objective can be measured."""
    return 1 if objective.measure == FAIRNESS else WAITS[objective.measure][1]

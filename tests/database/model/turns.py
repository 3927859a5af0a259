"""Who was served in which order, and whether the turns were fair: what a dequeue is judged by."""

from __future__ import annotations

from itertools import combinations

from database.model.model import Model

A_SECOND = 1_000


class Turns:
    """What one consumer was given, and since when each channel has had more to give than it was asked for."""

    def __init__(self, channels: list[str] | None = None) -> None:
        self.served: list[str] = []
        self.since: dict[str, int] = dict.fromkeys(channels or [], 0)

    def take(self, names: list[str], backlogged: list[str], weights: dict[str, int]) -> None:
        """Add one call: whom it served, in order, and which channels could have given more."""
        begin = len(self.served)
        self.served += names
        # A channel that comes in is in the rotation once it has been served.
        for pair in combinations([name for name in backlogged if name in self.since], 2):
            self.judge(pair, max(self.since[name] for name in pair), weights, begin)
        for name in set(names) - set(self.since):
            self.since[name] = len(self.served)

    def keep(self, backlogged: list[str]) -> None:
        """Whoever it was that emptied a channel: it comes back at another place."""
        self.since = {name: at for name, at in self.since.items() if name in backlogged}

    def judge(self, pair: tuple[str, str], start: int, weights: dict[str, int], begin: int) -> None:
        """Two backlogged channels never differ by more than a turn, at any prefix."""
        counts = dict.fromkeys(pair, 0)
        for place, name in enumerate(self.served[start:], start):
            if name in counts:
                counts[name] += 1
            first, second = (counts[name] / weights[name] for name in pair)
            assert place < begin or abs(first - second) <= 1, (
                f"unfair: {counts} of {pair} at {place} since {start}: {self.served[start:]}"
            )


def judge_dequeue(model: Model, taken: list[tuple[int, str]], limit: int) -> list[str]:
    """What was leased is what could be: as many as allowed, and the first ones of each line.

    Answers the channels that could have given more."""
    expected = model.leasable(limit)
    assert len(taken) == expected, f"{len(taken)} leased, {expected} could be: {taken}"
    backlogged = []
    for name in model.channels:
        ids = [id_ for id_, channel in taken if channel == name]
        assert ids == [each.id for each in model.line(name)[: len(ids)]], f"not in order: {ids}"
        assert len(ids) <= model.eligible(name), f"{name} is over its limits"
        if len(ids) < model.eligible(name):
            backlogged.append(name)
    return backlogged


def judge_nothing(model: Model, retry_at: int | None) -> None:
    """A dequeue that finds nothing says to look again before something becomes eligible.

    A lease that a heartbeat moved may be looked at a second after its end."""
    moment = model.next_moment()
    ends = [each.lease_until for each in model.leased()]
    slack = A_SECOND if moment in ends else 0
    assert retry_at is None or retry_at > model.now, f"look again at {retry_at}, now is {model.now}"
    assert moment is None or (retry_at is not None and retry_at <= moment + slack), (
        f"look again at {retry_at}, but something is eligible at {moment}"
    )

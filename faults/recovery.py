"""How long it took to recover: from a fault to the moment when its victims were at work again."""

from __future__ import annotations

import itertools

from faults.evidence import Evidence


def slowest(evidence: Evidence) -> float:
    """The longest of: a killed worker's message leased anew; anything leased after the server came back."""
    return max([0.0, *after_kills(evidence), *after_starts(evidence)])


def after_kills(evidence: Evidence) -> list[float]:
    """From each kill to the moment when a message of the killed worker was heard of again."""
    killed = {each["who"]: each["t"] for each in evidence.faults if each["fault"] == "killed"}
    times = []
    for deliveries in evidence.deliveries.values():
        ordered = sorted(deliveries, key=lambda each: each.at)
        for one, next_one in itertools.pairwise(ordered):
            if one.who in killed and one.heard <= killed[one.who] < next_one.heard:
                times.append((next_one.heard - killed[one.who]) / 1000)
    return times


def after_starts(evidence: Evidence) -> list[float]:
    """From each start of the server to the first lease that was heard of."""
    heard = sorted(each.heard for one in evidence.deliveries.values() for each in one)
    times = []
    for fault in evidence.faults:
        if fault["fault"] == "started":
            after = next((each for each in heard if each > fault["t"]), None)
            if after is not None:
                times.append((after - fault["t"]) / 1000)
    return times

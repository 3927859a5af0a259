"""How long it took to recover: from a fault to the moment when its victims were at work again."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from faults.observations import Evidence

Recovery = tuple[float, int | None]  # seconds, and the message that waited for it


def slowest(evidence: Evidence) -> Recovery:
    """The longest of: a killed worker's message leased anew; anything leased after the server came back."""
    found = [(0.0, None), *after_kills(evidence), *after_starts(evidence)]
    return max(found, key=lambda each: each[0])


def after_kills(evidence: Evidence) -> Iterator[Recovery]:
    """From each kill to the moment when a message of the killed worker was heard of again."""
    killed = {each["who"]: each["t"] for each in evidence.faults if each["fault"] == "killed"}
    for id_, deliveries in evidence.deliveries.items():
        for one, next_one in pairwise(sorted(deliveries, key=lambda each: each.at)):
            if one.who in killed and one.heard <= killed[one.who] < next_one.heard:
                yield (next_one.heard - killed[one.who]) / 1000, id_


def after_starts(evidence: Evidence) -> Iterator[Recovery]:
    """From each start of the server to the first lease that was heard of."""
    heard = sorted(each.heard for one in evidence.deliveries.values() for each in one)
    for fault in evidence.faults:
        if fault["fault"] == "started":
            after = next((each for each in heard if each > fault["t"]), None)
            if after is not None:
                yield (after - fault["t"]) / 1000, None

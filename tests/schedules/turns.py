"""Fair turns between channels, as one consumer sees them that hands its cursor on from call to call.

A channel *waits* while it has a message that can be leased, before and after each call. `weight` messages are one turn.

**Level.** Two channels that both wait are given the same number of turns, but for two: one at either end.
**Passed over.** While a channel waits, no other is given more than two turns before it is served. That holds for those,
too, that give their last message, leave, and come back with a new one: whoever has had a turn stands behind all that
waited meanwhile. Two and not one, because who comes back before the consumer has been round is served in that round.
Channels with a concurrency limit are left out: a first limit lets its channel rest until its leases are counted.
"""

from __future__ import annotations

from collections import defaultdict

from .statements import Violation

MOST_TURNS = 2


class Turns:
    """What one consumer was given while it was the only one."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Something happened after which the count begins anew."""
        self.waiting: set[str] = set()
        # By channel that waits: turns of the others since it was served, and what others that waited had over it.
        self.passed: dict[str, dict[str, float]] = {}
        self.ahead: dict[str, dict[str, float]] = {}

    def take(self, served: list[str], waiting: set[str], weights: dict[str, int]) -> None:
        """Add a call: whose messages it gave, in order, and who waited before and after it."""
        for name in self.waiting - waiting:
            del self.passed[name], self.ahead[name]
            for others in self.ahead.values():
                others.pop(name, None)
        for name in waiting - self.waiting:
            self.passed[name], self.ahead[name] = defaultdict(float), defaultdict(float)
        self.waiting = set(waiting)
        for name in served:
            self.serve(name, 1 / weights[name])

    def serve(self, name: str, turn: float) -> None:
        """One message was given: it counts against all others that wait, and for its own channel."""
        for other in self.waiting - {name}:
            self.passed[other][name] += turn
            if self.passed[other][name] > MOST_TURNS + 0.001:
                raise Violation(
                    "turns", f"{other} waits, and {name} was given {self.passed[other][name]:.3g} turns before it"
                )  # fmt: skip
            if name in self.waiting:
                self.ahead[other][name] += turn
                if self.ahead[other][name] > MOST_TURNS + 0.001:
                    raise Violation(
                        "turns", f"{name} is {self.ahead[other][name]:.3g} turns ahead of {other}, and both wait"
                    )  # fmt: skip
        if name in self.waiting:
            self.passed[name].clear()
            for other in self.ahead[name]:
                self.ahead[name][other] = max(0.0, self.ahead[name][other] - turn)

"""The schedule of faults: drawn from a seed before the run, printed, and drawn alike when the seed is given again."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: when, which kind, which target (counted round), how long, and the seed of its random choices."""

    at: float
    kind: str
    target: int
    seconds: float
    random_seed: int

    def __str__(self) -> str:
        return f"{self.at:8.2f} s  {self.kind} #{self.target} for {self.seconds:.2f} s"


# How often each kind comes, and how long it lasts: the server's faults stop everybody, so they come seldom.
KINDS: dict[str, tuple[int, float, float]] = {
    "worker_sigkill": (6, 0, 0),
    "worker_sigterm": (3, 0, 0),
    "worker_sigstop": (3, 2.5, 5),
    "producer_sigkill": (2, 0, 0),
    "server_immediate": (2, 0, 1),
    "server_fast": (1, 0, 1),
    "cut_before_commit": (4, 0, 0),
    "cut_after_commit": (4, 0, 0),
    "half_open": (2, 1, 8),
    "cancel": (4, 0, 0),
    "terminate": (4, 0, 0),
    "listener_killed": (2, 0, 0),
    "snapshot_held": (1, 3, 10),
    "producer_open": (2, 1, 6),
    "limits_changed": (6, 0, 0),
    "paused": (2, 0.5, 3),
}


def draw_schedule(
    seed: int, *, count: int, gap: float, kinds: list[str] | None = None
) -> list[Fault]:
    """So many faults, so many seconds apart on average; every kind comes if there is room for it."""
    rng = random.Random(seed)
    chosen = {name: KINDS[name] for name in kinds or KINDS}
    drawn = list(chosen)[:count]
    weights = [each[0] for each in chosen.values()]
    drawn += rng.choices(list(chosen), weights, k=count - len(drawn))
    rng.shuffle(drawn)
    faults, at = [], 1.0
    for kind in drawn:
        _, least, most = chosen[kind]
        at += rng.uniform(0.4, 1.6) * gap
        faults.append(
            Fault(round(at, 3), kind, rng.randrange(1000), round(rng.uniform(least, most), 2),
                  rng.randrange(1 << 30))
        )  # fmt: skip
    return faults

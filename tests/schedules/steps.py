"""Schedules as data: what each session does next, drawn from a seed.

A step names messages by their tag, `number of the step . place in the step`, and leases by a number to be reckoned
modulo the leases that there are, never by an id or a token. So a step can be left out and the rest still makes sense:
what cannot be done at its turn is skipped.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Any

CHANNELS = ("a", "b", "c", "d")
KEYS = ("n1", "n2", "n3")
LEASES_MS = (50, 1_000, 30_000, 600_000)
ISOLATIONS = ("read committed", "read committed", "repeatable read", "serializable")
DAY = 86_400_000
CLOCK_STEPS = (1, 10, 100, 1_000, 1_000, 5_000, 30_000, 70_000, 600_000, -1, -100, -2_000, -60_000)
# How often a step is drawn, before a schedule leaves some kinds out and favours others.
WEIGHTS = {
    "create": 10, "create_many": 5, "copy": 2, "burst": 1, "wide": 1, "bulk": 1,
    "dequeue": 14, "nibble": 2, "grab": 1, "flap": 2, "claim": 3, "acknowledge": 3, "renew": 1,
    "complete": 8, "defer": 3, "fail": 3, "heartbeat": 3, "cancel": 2, "purge": 1, "redrive": 2,
    "begin": 5, "end": 8, "savepoint": 2, "rollback_to": 2,
    "set": 4, "pause": 2, "resume": 2, "queue": 1, "release": 1,
    "clock": 5, "sweep": 1, "check": 1, "interrupted": 1, "together": 8,
}  # fmt: skip
# How much more often a step is drawn in a large schedule; these are the ones that may be of thousands.
LARGE = {"create_many": 1, "burst": 5, "wide": 5, "bulk": 5, "nibble": 2, "grab": 5}
LARGE_BEGINNINGS = (
    ("burst",), ("wide",), ("wide", "clock"), ("create_many", "nibble", "clock"), ("wide", "nibble", "clock"),
    ("bulk", "grab", "clock", "dequeue"), ("create_many", "dequeue", "burst", "pause", "dequeue"),
    ("create_many", "dequeue", "burst", "set", "dequeue"),
)  # fmt: skip
# What a schedule is about, as often as not: these steps are drawn so many times as often.
THEMES: dict[str, dict[str, int]] = {
    "claims": {"claim": 6, "acknowledge": 6, "renew": 4},
    "deaths": {"fail": 5, "redrive": 8, "clock": 2},
    "turns": {"flap": 12},
    "sleep": {"dequeue": 3, "create": 2, "clock": 2, "set": 2},
    "time": {"clock": 5, "dequeue": 2, "heartbeat": 3, "begin": 3, "end": 2},
    "beside": {"begin": 5, "create_many": 2, "set": 3, "pause": 4, "resume": 2, "dequeue": 2},
    "expiry": {"clock": 3, "dequeue": 2},
    "capacity": {"create": 2, "create_many": 3, "cancel": 4, "purge": 4, "set": 2},
    "limits": {"set": 3, "complete": 3, "dequeue": 2, "queue": 4},
    "releases": {"release": 6, "sweep": 8, "complete": 3, "begin": 2, "clock": 2},
    "overtaking": {"begin": 2, "create_many": 3, "dequeue": 2},
}
ALWAYS = {"create", "dequeue", "complete", "end"}
SIZES = {
    "burst": ((3, 40), (40, 400), (20_500, 21_500)),
    "wide": ((3, 40), (40, 400), (2_000, 15_000)),
    "bulk": ((3, 40), (40, 400), (20_000, 45_000)),
    "grab": ((1, 2), (1, 2), (3, 5)),
    "nibble": ((3, 20), (20, 150), (1_500, 1_600)),
    "create_many": ((2, 8), (8, 100), (1_000, 4_000)),
    "dequeue": ((1, 4), (5, 50), (1_000, 10_000)),
}


@dataclass(frozen=True, slots=True)
class Step:
    """One step of one session."""

    number: int
    session: str
    op: str
    args: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        if self.op == "together":
            return "   &\n".join(str(each) for each in self.args["pair"])
        args = " ".join(f"{name}={value}" for name, value in self.args.items() if value is not None)
        return f"{self.number:>4} {self.session}  {self.op} {args}"[:300]


class Drawer:
    """Draws one schedule."""

    def __init__(self, seed: int, *, large: bool | None = None) -> None:
        self.random = Random(seed)
        # A source of their own: the rest of a schedule does not depend on the options of its messages.
        self.options_random = Random(f"options {seed}")
        self.has_options = self.options_random.random() < 0.4
        draw = self.random
        self.large = draw.random() < 0.004 if large is None else large
        self.sessions = [f"s{number}" for number in range(1, draw.randint(2, 5) + 1)]
        self.channels = CHANNELS[: draw.choice((1, 1, 2, 2, 3, 4)) if not self.large else 2]
        self.length = draw.choice((8, 15, 25, 25, 40, 60))
        self.open: dict[str, list[str]] = {}
        self.has_backwards = draw.random() < 0.3
        self.weights = {
            op: weight * (draw.choice((0, 0, 1, 1, 3)) if op not in ALWAYS else draw.choice((1, 2)))
            for op, weight in WEIGHTS.items()
        }
        self.theme = draw.choice((*THEMES, *[""] * len(THEMES))) if not self.large else ""
        self.has_backwards |= self.theme == "time"
        for op, times in THEMES.get(self.theme, {}).items():
            self.weights[op] = max(self.weights[op], WEIGHTS[op]) * times
        self.large_left = (
            2 if self.large else 0
        )  # steps with thousands of messages that are still to come
        if self.large:
            self.length = draw.choice((6, 10, 14))
            self.weights = {op: weight * LARGE.get(op, 1) for op, weight in self.weights.items()}
            for op in LARGE:
                self.weights[op] = max(self.weights[op], WEIGHTS[op] * draw.choice((0, LARGE[op])))
        self.steps: list[Step] = []
        self.numbers = count()

    def schedule(self) -> list[Step]:
        """All steps: some settings first, as often as not, then a mixture."""
        if self.random.random() < 0.15:
            self.add(self.session(), "defaults", options=self.options(first=True))
        for channel in self.channels:
            if self.random.random() < 0.5:
                self.add(self.session(), "set", channel=channel, options=self.options(first=True))
        if self.theme == "expiry":
            self.expire()
        elif self.theme == "time":
            self.commit_late()
        elif self.theme == "overtaking":
            self.overtake()
        elif self.theme == "claims":
            self.claim_again()
        elif self.theme == "capacity":
            self.resize()
        elif self.theme == "releases":
            self.complete_beside()
        elif self.theme == "sleep" and self.random.random() < 0.3:
            self.create_by_an_old_snapshot()
        elif self.theme in ("beside", "limits"):
            self.limit_beside(first=self.theme == "limits")
        if self.large:
            for op in self.random.choice(LARGE_BEGINNINGS):
                self.draw(op, self.session())
        ops, weights = list(self.weights), list(self.weights.values())
        while len(self.steps) < self.length:
            self.draw(self.random.choices(ops, weights)[0], self.session())
        return self.steps

    def expire(self) -> None:
        """More leases that are over at once than one call takes back."""
        draw = self.random
        channel, number = draw.choice(self.channels), draw.randint(550, 1100)
        self.add(self.session(), "bulk", channel=channel, count=number, delay=0)
        self.add(self.session(), "grab", count=1, lease=draw.choice((50, 1_000)))
        self.add("-", "clock", by=draw.choice((1_000, 30_000)))

    def complete_beside(self) -> None:
        """A completion that is not committed while maintenance looks for the days to come."""
        first, second = self.random.sample(self.sessions, 2)
        self.draw("create_many", first)
        self.add(first, "dequeue", limit=2, lease=600_000, cursor=True)
        self.add(first, "begin", isolation=ISOLATIONS[0])
        self.settle(first, "complete")
        self.add("-", "clock", by=15 * DAY)
        self.add(second, "sweep")
        self.add(first, "commit")

    def create_by_an_old_snapshot(self) -> None:
        """A message of a transaction that began before the consumer found nothing and went to sleep."""
        first, second = self.random.sample(self.sessions, 2)
        self.draw("create", second)
        self.add(first, "begin", isolation=self.random.choice(ISOLATIONS[2:]))
        self.add(first, "check")
        for _ in range(4):
            self.add(second, "dequeue", limit=50, lease=600_000, cursor=True)
        self.draw("create", first)
        self.add(first, "commit")

    def commit_late(self) -> None:
        """A lease that is over when its dequeue commits, after others have looked for leases that are over."""
        draw = self.random
        first, second = draw.sample(self.sessions, 2)
        self.draw("create_many", first)
        for session, lease in (
            (first, draw.choice(LEASES_MS)),
            (second, draw.choice(LEASES_MS[:2])),
        ):
            self.add(session, "begin", isolation=ISOLATIONS[0])
            self.add(session, "dequeue", limit=1, lease=lease, cursor=True)
        self.add(first, "commit")
        self.add("-", "clock", by=draw.choice((1_000, 5_000)))
        for _ in range(draw.randint(1, 2)):
            self.draw("create", first)
            self.add(
                first,
                "dequeue",
                limit=draw.randint(1, 4),
                lease=draw.choice(LEASES_MS),
                cursor=True,
            )
        self.add(second, "commit")

    def limit_beside(self, *, first: bool) -> None:
        """A first limit, one that is lowered, or a pause, while dequeues are open that do not know of it."""
        draw = self.random
        one, another = draw.sample(self.sessions, 2)
        is_pause = not first and draw.random() < 0.5
        if not first and not is_pause:
            for channel in self.channels:
                self.add(
                    one, "set", channel=channel, options={"max_concurrency": draw.randint(5, 8)}
                )
        rows = [[channel, None, None] for channel in self.channels for _ in range(6)]
        self.add(one, "create_many", rows=rows)
        self.add(one, "dequeue", limit=1, lease=600_000, cursor=True)
        for session in (one, another)[: 1 + first]:
            self.add(session, "begin", isolation=ISOLATIONS[0])
            self.add(session, "dequeue", limit=1, lease=600_000, cursor=True)
        if first:  # who folds is not in the way
            self.add(one, "commit")
        setter = one if first else another
        if is_pause:
            self.add(setter, "pause", channel=draw.choice(self.channels))
        else:
            options = {"max_concurrency": draw.randint(1, 3)}
            self.add(setter, "set", channel=draw.choice(self.channels), options=options)
        self.add(setter, "dequeue", limit=10, lease=600_000, cursor=True)
        self.add(another if first else one, draw.choice(("commit", "rollback")))

    def claim_again(self) -> None:
        """A claim that is given messages again whose lease is over."""
        session, lease = self.session(), self.random.choice(LEASES_MS[:2])
        self.draw("create_many", session)
        for add in (False, True):
            self.add(
                session, "claim", limit=self.size("dequeue"), lease=lease, channels=None, add=add
            )
            self.add("-", "clock", by=self.random.choice((1_000, 5_000)))

    def resize(self) -> None:
        """A capacity that is set while a transaction with an older snapshot adds messages, or takes some away."""
        draw, channel = self.random, self.random.choice(self.channels)
        old, new = draw.sample(self.sessions, 2)
        rows = [[channel, None, None] for _ in range(draw.randint(2, 5))]
        self.add(new, "create_many", rows=rows)
        self.add(old, "begin", isolation=draw.choice(ISOLATIONS[2:]))
        self.add(old, "create", rows=rows[:1])
        self.add(new, "set", channel=channel, options={"max_size": draw.choice((3, 10))})
        for _ in range(2):
            self.add(new, "dequeue", limit=1, lease=600_000, cursor=True)
        if draw.random() < 0.5:
            self.add(old, "purge", channel=channel, limit=2)
        else:
            self.add(old, "create_many", rows=rows)
        self.add(old, "commit")
        self.add(new, "dequeue", limit=1, lease=600_000, cursor=True)
        self.add(new, "create", rows=rows[:1])

    def overtake(self) -> None:
        """Messages in the middle of a long line, which are committed when others have come to their place."""
        draw, channel = self.random, self.random.choice(self.channels)
        producer, consumer = draw.sample(self.sessions, 2)

        def rows(least: int, most: int) -> list[Any]:
            ages = [draw.randint(1, 5_000) for _ in range(draw.randint(least, most))]
            return [[channel, ["ago", age], None] for age in ages]

        for _ in range(draw.randint(1, 3)):
            self.add(producer, "create_many", rows=rows(40, 120))
            self.add(consumer, "dequeue", limit=1, lease=600_000, cursor=True)
            self.add(producer, "begin", isolation=ISOLATIONS[0])
            self.add(producer, "create_many", rows=rows(1, 5))
            for _ in range(draw.randint(1, 3)):
                self.add(consumer, "dequeue", limit=draw.randint(5, 40), lease=600_000, cursor=True)
            self.add(producer, "commit")
            self.add(consumer, "dequeue", limit=draw.randint(1, 5), lease=600_000, cursor=True)

    def add(self, session: str, op: str, **args: Any) -> None:
        """Append a step."""
        self.steps.append(Step(next(self.numbers), session, op, args))

    def session(self) -> str:
        """Any session."""
        return self.random.choice(self.sessions)

    def size(self, op: str) -> int:
        """A number of messages, mostly small; large ones in large schedules only."""
        low, middle, high = SIZES[op]
        is_large = self.large_left > 0 and (op == "dequeue" or op in LARGE)
        range_ = self.random.choices((low, middle, high), (2, 1, 10) if is_large else (30, 5, 0))[0]
        self.large_left -= range_ is high and op != "dequeue"
        return self.random.randint(*range_)

    def draw(self, op: str, session: str) -> None:
        """Append a step of a kind, with what must be beside it."""
        draw, is_open = self.random, session in self.open
        match op:
            case "create":
                self.add(session, "create", rows=[self.message()])
            case "create_many" | "copy":
                keys = op != "copy" and draw.random() < 0.4
                rows = [self.message(keys=keys) for _ in range(self.size("create_many"))]
                self.add(session, op, rows=rows)
            case "burst" | "bulk":
                self.add(
                    session,
                    op,
                    channel=draw.choice(self.channels),
                    count=self.size(op),
                    delay=self.delay(),
                )
            case "wide":
                self.add(
                    session,
                    op,
                    count=self.size(op),
                    delay=self.delay(),
                    rate=self.large and draw.random() < 0.3,
                )
            case "dequeue":
                self.dequeue(session, is_open)
            case "nibble" | "grab":
                self.add(
                    session,
                    op,
                    count=self.size(op),
                    lease=draw.choice(LEASES_MS),
                    kinds=self.kinds(),
                )
            case "complete" | "defer" | "fail" | "heartbeat":
                self.settle(session, op)
            case "cancel":
                self.add(session, op, picks=self.picks())
            case "begin" | "end" | "savepoint" | "rollback_to":
                self.transaction(session, op, is_open)
            case "set":
                self.add(session, op, channel=draw.choice(self.channels), options=self.options())
            case "flap":
                most, rounds = (12, 40) if self.theme == "turns" else (6, 25)
                rows = [
                    [channel, None, None]
                    for channel in self.channels
                    for _ in range(draw.randint(1, most))
                ]
                draw.shuffle(rows)
                self.add(
                    session, op, rows=rows, count=draw.randint(5, rounds), limit=draw.choice((1, 1, 1, 2, 3)),
                    back=draw.sample(self.channels, draw.randint(1, len(self.channels))), lease=60_000, cursor=True,
                )  # fmt: skip
            case "claim":
                if draw.random() < 0.6:
                    self.draw("create_many", session)
                channels = draw.sample(self.channels, 1) if draw.random() < 0.4 else None
                more = {"last_id": draw.randrange(1000)} if draw.random() < 0.2 else {}
                more |= {"last_at": draw.choice((-50, -1, 0))} if draw.random() < 0.2 else {}
                self.add(
                    session, op, limit=self.size("dequeue"), lease=draw.choice(LEASES_MS), channels=channels,
                    add=draw.random() < 0.4, **more,
                )  # fmt: skip
            case "acknowledge":
                outcomes = ("complete", "complete", "complete", "defer", "fail", "dead")
                self.add(
                    session, op, pick=draw.randrange(1000), release=draw.random() < 0.25,
                    outcomes=[draw.choice(outcomes) for _ in range(5)] if draw.random() < 0.6 else ["complete"],
                )  # fmt: skip
            case "renew":
                self.add(session, op, lease=draw.choice(LEASES_MS))
            case "purge":
                self.add(
                    session, op, channel=draw.choice(self.channels), limit=draw.choice((1, 2, 100))
                )
            case "redrive":
                if self.theme == "deaths" and draw.random() < 0.7:
                    self.draw("create", session)
                    self.dequeue(session, is_open)
                    self.settle(session, "fail")
                self.add(session, op, picks=self.picks())
            case "pause" | "resume" | "release":
                self.add(session, op, channel=draw.choice(self.channels))
            case "queue":
                self.add(session, op, max_concurrency=draw.choice((None, None, 1, 2, 5)))
            case "clock":
                by = draw.choice(CLOCK_STEPS)
                if self.theme == "releases" and draw.random() < 0.2:
                    by = 15 * DAY
                self.add("-", op, by=by if self.has_backwards else abs(by))
            case "interrupted":
                inner = draw.choice(("create_many", "dequeue", "complete"))
                self.draw(inner, session)
                self.steps[-1].args["interrupt"] = draw.choice(("cancel", "timeout"))
            case "together":
                self.together()
            case _:
                self.add(session, op)

    def together(self) -> None:
        """Two steps at the same instant: a dequeue, and what another session does, such as to end its transaction."""
        draw, begin = self.random, len(self.steps)
        first, second = draw.sample(self.sessions, 2)
        self.draw_dequeue(first)
        if second in self.open and draw.random() < 0.7:
            self.transaction(second, "end", is_open=True)
        else:
            self.draw(
                draw.choice(
                    ("create", "create_many", "set", "pause", "resume", "complete", "fail")
                ),
                second,
            )
            if draw.random() < 0.3:
                del self.steps[begin + 1 :]
                self.draw_dequeue(second)
        pair = self.steps[begin:]
        for each in pair:  # by which rate a dequeue counted that met a new rate, nobody can say
            for name in ("min_interval_ms", "burst"):
                each.args.get("options", {}).pop(name, None)
            if each.args.get("options") == {}:
                each.args["options"]["max_concurrency"] = 2
        del self.steps[begin:]
        self.steps.append(Step(pair[0].number, first, "together", {"pair": pair}))

    def transaction(self, session: str, op: str, is_open: bool) -> None:
        """Begin what is not open, end what is; a transaction often begins with a dequeue."""
        draw = self.random
        if not is_open:
            if op == "begin":
                is_beside = self.theme == "beside"  # others go on beside a dequeue that is open
                isolation = draw.choice(ISOLATIONS) if not is_beside else ISOLATIONS[0]
                self.add(session, "begin", isolation=isolation)
                self.open[session] = []
                if isolation == "read committed" and (is_beside or draw.random() < 0.5):
                    self.dequeue(session, is_open=False)
            return
        points = self.open[session]
        if op == "savepoint":
            points.append(f"p{len(self.steps)}")
            self.add(session, op, name=points[-1])
        elif op == "rollback_to" and points:
            self.add(session, op, name=draw.choice(points))
        elif op == "end":
            del self.open[session]
            self.add(session, draw.choice(("commit", "commit", "rollback")))

    def dequeue(self, session: str, is_open: bool) -> None:
        """A dequeue is rejected in the middle of a transaction: seldom tried."""
        if is_open and self.random.random() < 0.9:
            session = next((each for each in self.sessions if each not in self.open), session)
        self.draw_dequeue(session)

    def draw_dequeue(self, session: str) -> None:
        """A dequeue of one message or many, with or without the cursor."""
        leases = LEASES_MS[:2] if self.theme == "time" else LEASES_MS
        limit, lease = self.size("dequeue"), self.random.choice(leases)
        cursor, kinds = self.random.random() < 0.7, self.kinds()
        self.add(session, "dequeue", limit=limit, lease=lease, cursor=cursor, kinds=kinds)

    def kinds(self) -> list[str | None] | None:
        """What a dequeue asks for: all kinds, a single one, or two."""
        if self.random.random() < 0.6:
            return None
        found: tuple[list[str | None], ...] = (
            ["email"],
            ["video"],
            [None],
            ["email", "video"],
            ["video", None],
        )
        return self.random.choice(found)

    def settle(self, session: str, how: str) -> None:
        """Settle leases of this session, of anybody, or such as were settled before."""
        draw = self.random
        delays = {
            "heartbeat": LEASES_MS,
            "fail": (None, 0, 0, 100, 2_000),
            "defer": (0, 0, 100, 2_000),
        }
        self.add(
            session, "settle", how=how, who=draw.choice(("own", "own", "any", "old")), picks=self.picks(),
            delay=draw.choice(delays.get(how, (None,))),
            state=draw.choice((None, "half")) if how == "defer" else None,
            dead=True if how == "fail" and draw.random() < (0.5 if self.theme == "deaths" else 0.1) else None,
        )  # fmt: skip

    def picks(self) -> list[int]:
        """Which of the leases that there are, modulo their number."""
        number = self.random.choice((1, 1, 1, 2, 3, 8, 100 if self.large else 8))
        return [self.random.randrange(1000) for _ in range(number)]

    def message(self, *, keys: bool = True) -> list[Any]:
        """A message: channel, when, key, and perhaps options."""
        key = self.random.choice(KEYS) if keys and self.random.random() < 0.25 else None
        row: list[Any] = [self.random.choice(self.channels), self.when(), key]
        return [*row, self.message_options(row[1], key)] if self.has_options else row

    def message_options(self, when: list[Any] | None, key: str | None) -> dict[str, Any]:
        """A priority, a time to expire at from now, a number of attempts, and what a key does: seldom all of them."""
        draw = self.options_random
        options: dict[str, Any] = {}
        if draw.random() < 0.3 and (when is None or when[0] != "at"):
            options["priority"] = draw.choice((1, 2, 1000))
        if draw.random() < 0.25:
            options["expires_at"] = draw.choice((-50, 0, 50, 1_000, 6_000, 100_000))
        if draw.random() < 0.15:
            options["max_attempts"] = draw.choice((1, 2, 7))
        if key and draw.random() < 0.3:
            options["unique_for_ms"] = draw.choice((50, 1_000, 60_000))
        if key and draw.random() < 0.5:
            options["when_duplicate"] = draw.choice(("keep", "replace", "postpone"))
        return options

    def when(self) -> list[Any] | None:
        """Now, after a delay, at an absolute time, or some time ago."""
        draw = self.random
        return draw.choice((
            None, None, None, ["at", draw.randint(-5, 5)], ["ago", draw.choice((1, 50, 5_000))],
            ["delay", draw.choice((1, 100, 1_500, 60_000))],
        ))  # fmt: skip

    def delay(self) -> int:
        """A delay for many messages at once."""
        return self.random.choice((0, 0, 100, 1_500, 60_000))

    def options(self, *, first: bool = False) -> dict[str, Any]:
        """Settings of a channel; attempts only at the beginning of a schedule."""
        draw, options = self.random, {}
        if self.theme == "turns" and draw.random() < 0.7:  # and no limits, which are another way
            return {"weight": draw.choice((1, 2, 3, 5))}
        for name, values in (
            ("max_concurrency", (None, 1, 2, 3, 8)),
            ("min_interval_ms", (None, None, 100, 1_000)),
            ("burst", (1, 1, 2, 5)),
            ("max_size", (None, 1, 3, 10)),
            ("when_full", ("reject", "drop")),
            ("weight", (1, 1, 2, 5)),
        ):
            is_theme = self.theme == {"max_size": "capacity", "max_concurrency": "limits"}.get(name)
            if draw.random() < (0.8 if is_theme else 0.35):
                options[name] = draw.choice(values)
        if first and draw.random() < 0.4:
            options["max_attempts"] = draw.choice((1, 2, 3))
        return options or {"max_concurrency": draw.choice((None, 1, 2))}


def draw_schedule(seed: int, *, large: bool | None = None) -> list[Step]:
    """The schedule of a seed."""
    return Drawer(seed, large=large).schedule()

"""The simulator decides as the engine does: one random day through both, on the same clock, message by message.

Where the engine draws lots (channels that become ready in the same millisecond) or goes by the wall clock (when a
floor is moved, when quiet notes are folded), the engine of this test goes by number and at once.
"""

import random
import re

import psycopg
import pytest

from database.model.queue_reset import START, stop_the_clock
from lonnymq import Queue
from lonnymq.simulate.replay import LOW
from lonnymq.simulate.ring import BITS, Channel, Cursor, Limits
from lonnymq.simulate.scheduler import Scheduler
from support import fetch_row, message_id

FIXED = [
    ("walk_one", r"random\(\) < 0\.01", "false"),
    ("walk_one", r"clock_timestamp\(\) - v_started > interval '1 millisecond'", "false"),
    # Notes of messages are folded at once; notes of leases need not be.
    ("engine_state", r"\+ 20\)", "* 0 - 1)"),
    (
        "engine_state",
        r"n\.xid >= t\.until_xid\n",
        "n.xid >= t.until_xid and n.message_ids is null\n",
    ),
    (
        "engine_state",
        r"any \(t\.running_xids\)\n",
        "any (t.running_xids) and n.message_ids is null\n",
    ),
    ("walk_review", r"v_is_due := .*?;", "v_is_due := false;"),
    ("message_lease_direct", r">= 200", ">= 2000000000"),
    ("message_lease_direct", r"n\.xid, random\(\)", "n.xid"),
    ("channel_apply_changes", r"i\.due_at\), random\(\)", "i.due_at), p.channel_id"),
    ("channel_wake_due", r"p\.wake_at, random\(\)", "p.wake_at, p.channel_id"),
]


def without_lots(connection: psycopg.Connection) -> None:
    """Replace what is left to chance or to the wall clock."""
    for name, pattern, instead in FIXED:
        [source] = fetch_row(
            connection,
            "select pg_get_functiondef(p.oid) from pg_proc p where p.proname = %s "
            "and p.pronamespace = 'lonnymq'::regnamespace",
            (name,),
        )
        changed, times = re.subn(pattern, instead, source, flags=re.DOTALL)
        assert times == 1, f"{name}: {pattern} was replaced {times} times"
        connection.execute(changed)


class Both:
    """The engine and the simulator, given the same things to do."""

    def __init__(
        self, dsn: str, rng: random.Random, limits: list[Limits], most: int | None
    ) -> None:
        self.rng, self.now, self.most = rng, START, most
        self.connection = psycopg.connect(dsn, autocommit=True)
        self.queue = Queue(dsn)
        stop_the_clock(self.connection)
        without_lots(self.connection)
        self.tick(0)
        self.channels = []
        for number, each in enumerate(limits):
            name = f"channel {number:03}"
            self.queue.channel_set(
                name,
                max_concurrency=each.max_concurrency,
                min_interval_ms=each.min_interval_ms,
                burst=each.burst,
                weight=each.weight,
            )
            self.channels.append(Channel(name, each, number))
            self.channels[-1].is_known = True
        self.queue.set(max_concurrency=most)
        self.dequeue(None)  # from here on the engine knows them
        self.scheduler = Scheduler(self.channels, max_concurrency=most)
        self.cursors = [Cursor(seat=0) for _ in range(3)]
        self.positions: list[list[int]] = [[0, 0, 0] for _ in self.cursors]
        self.leased: list[tuple[Channel, int, object]] = []
        self.names = {each.name: each for each in self.channels}

    def tick(self, milliseconds: int) -> None:
        self.now += milliseconds
        self.connection.execute("update lonnymq.test_clock set now_at = %s", (self.now,))

    def dequeue(self, cursor: list[int] | None):
        return self.connection.execute(
            "select answer, id, token, channel, dequeue_at, cursor "
            "from lonnymq.message_dequeue(1, 3600000, null, %s)",
            (cursor,),
        ).fetchone()

    def create(self) -> None:
        channel = self.rng.choice(self.channels)
        self.tick(self.rng.randrange(1, 4))
        delay = self.rng.choice([0, 0, 0, 0, self.rng.randrange(1, 400)])
        due = self.now + delay
        created = self.queue.create(channel.name, b"x", dequeue_at=due)
        self.scheduler.arrive(channel, (due << BITS) + message_id(created))

    def complete(self) -> None:
        if not self.leased:
            return
        channel, message, token = self.leased.pop(self.rng.randrange(len(self.leased)))
        [answer] = fetch_row(
            self.connection,
            "select lonnymq.message_complete(%s::bigint, %s::uuid)",
            (message & LOW, token),
        )
        assert answer == "completed"
        self.scheduler.finish(channel, message)

    def defer(self) -> None:
        """A lease ends, and its message comes again; as after a failure, but for the attempts."""
        if not self.leased:
            return
        channel, message, token = self.leased.pop(self.rng.randrange(len(self.leased)))
        self.tick(1)
        delay = self.rng.choice([0, 0, self.rng.randrange(1, 400)])
        [answer] = fetch_row(
            self.connection,
            "select lonnymq.message_defer(%s::bigint, %s::uuid, %s)",
            (message & LOW, token, delay),
        )
        assert answer == "deferred"
        self.scheduler.finish(channel, message)
        self.scheduler.come_back(channel, ((self.now + delay) << BITS) + (message & LOW))

    def take(self) -> str:
        """One decision of both."""
        who = self.rng.randrange(len(self.cursors))
        expected = self.scheduler.take(self.cursors[who], self.now)
        answer, id_, token, name, due, cursor = self.dequeue(self.positions[who])
        for _ in range(3):
            if answer != "contended":  # it has just folded what it had been told quietly
                break
            answer, id_, token, name, due, cursor = self.dequeue(cursor[:3])
        self.positions[who] = cursor[:3]
        given = None if answer != "leased" else (due << BITS) + id_
        assert given == expected, (
            f"at {self.now - START} the engine gave {seen(given)}, the simulator {seen(expected)}"
        )
        if given is None:
            return answer
        self.leased.append((self.names[name], given, token))
        return "leased"


def seen(message: int | None) -> str:
    return "nothing" if message is None else f"{message & LOW}, due at {(message >> BITS) - START}"


def some_limits(rng: random.Random) -> Limits:
    return Limits(
        max_concurrency=rng.choice([None, None, 1, 2, 5]),
        min_interval_ms=rng.choice([None, None, None, 7, 60]),
        burst=rng.choice([1, 1, 3]),
        weight=rng.choice([1, 1, 1, 2, 5]),
    )


@pytest.mark.parametrize("seed", range(8))
def test_the_simulator_takes_the_message_that_the_engine_takes(dsn_18, seed) -> None:
    rng = random.Random(seed)
    plain = seed % 3 == 0
    many = rng.choice([2, 5, 12])
    limits = [Limits() if plain else some_limits(rng) for _ in range(many)]
    both = Both(dsn_18, rng, limits, rng.choice([None, None, 4]))
    leased = 0
    for _ in range(700):
        what = rng.random()
        if what < 0.3 + 0.1 * (seed % 2):
            both.create()
        elif what < 0.5:
            both.complete()
        elif what < 0.55:
            both.defer()
        elif what < 0.6:
            both.tick(rng.choice([1, 20, 300, 1500]))
        else:
            leased += both.take() == "leased"
    assert leased > 50

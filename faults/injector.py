"""Does what the schedule says: to processes, to connections, to the server, to the queue's settings."""

from __future__ import annotations

import heapq
import random
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path

import psycopg

from faults.processes import Crew, Hand
from faults.call_log import Journal, records_of
from faults.limits import QUEUE
from faults.schedule import Fault
from faults.environment import Stand
from lonnymq.errors import LonnyMQError

ANYBODY = """
select pid from pg_stat_activity
where backend_type = 'client backend' and pid <> pg_backend_pid() and application_name <> 'harness'
"""
LISTENERS = ANYBODY + " and (query ilike 'listen %' or query = 'select 1')"
CUTS = (b"message_create", b"message_complete", b"message_dequeue", b"COMMIT", b"message_fail")


class Faulter:
    """Carries out faults at their times, and what undoes them later."""

    def __init__(
        self,
        stand: Stand,
        crew: Crew,
        journal: Journal,
        *,
        limited: list[str],
        say: Callable[[str], None],
    ) -> None:
        self.stand, self.crew, self.journal, self.limited, self.say = (
            stand, crew, journal, limited, say,
        )  # fmt: skip
        self.later: list[tuple[float, int, Callable[[], None]]] = []
        self.numbers = count()
        self.done = 0
        self.is_up = True
        self.resting: set[str] = set()
        self.open: list[psycopg.Connection] = []
        self.broken: Exception | None = None

    def run(self, faults: list[Fault]) -> None:
        """Carry out all of them, undo what is to be undone, and keep what went wrong with that for the run."""
        try:
            self.carry_out(faults)
        except Exception as error:
            self.broken = error
        finally:
            self.calm()

    def carry_out(self, faults: list[Fault]) -> None:
        """Each fault at its time."""
        began = time.monotonic()
        for fault in faults:
            self.until(began + fault.at)
            self.journal.write(fault=fault.kind, target=fault.target, seconds=fault.seconds)
            self.say(str(fault).strip())
            with suppress(psycopg.Error, LonnyMQError):
                getattr(self, fault.kind)(fault, random.Random(fault.chance))
            self.done += 1
        while self.later:
            self.until(self.later[0][0])

    def until(self, moment: float) -> None:
        """Wait, and do what falls due meanwhile."""
        while True:
            due = min([moment, *(each[0] for each in self.later[:1])])
            pause = due - time.monotonic()
            if pause > 0:
                time.sleep(min(pause, 0.5))
            while self.later and self.later[0][0] <= time.monotonic():
                _, _, undo = heapq.heappop(self.later)
                with suppress(psycopg.Error, LonnyMQError):
                    undo()
            if time.monotonic() >= moment:
                return

    def undo(self, fault: Fault, how: Callable[[], None]) -> None:
        """Have something undone when the fault's time is over."""
        self.at(time.monotonic() + fault.seconds, how)

    def at(self, moment: float, what: Callable[[], None]) -> None:
        """Have something done at a moment."""
        heapq.heappush(self.later, (moment, next(self.numbers), what))

    def calm(self) -> None:
        """Leave nothing behind: everybody runs, nothing is paused, no order is left."""
        if not self.is_up:
            self.start_server()
        self.stand.proxy.forget()
        for hand in self.crew.hands:
            hand.go_on()
        for connection in self.open:
            connection.close()
        for channel in sorted(self.resting):
            self.stand.queue.channel_resume(channel)
        self.crew.ensure()

    def hand(self, role: str, target: int) -> Hand:
        """Whom it hits."""
        hands = self.crew.of(role)
        return hands[target % len(hands)]

    # Processes

    def worker_sigkill(self, fault: Fault, chance: random.Random) -> None:
        hand = self.hand("worker", fault.target)
        self.journal.write(fault="killed", who=hand.name)
        hand.kill()
        hand.start()

    def worker_sigterm(self, fault: Fault, chance: random.Random) -> None:
        hand = self.hand("worker", fault.target)
        hand.go_on()
        hand.signal(signal.SIGTERM)

        told = hand.process

        def replace() -> None:
            if hand.process is not told:
                return  # another fault was quicker
            if hand.is_running:
                self.at(time.monotonic() + 0.1, replace)
            else:
                hand.start()

        self.at(time.monotonic(), replace)

    def worker_sigstop(self, fault: Fault, chance: random.Random) -> None:
        hand = self.hand("worker", fault.target)
        hand.stop()
        self.undo(fault, hand.go_on)

    def producer_sigkill(self, fault: Fault, chance: random.Random) -> None:
        hand = self.hand("producer", fault.target)
        if not hand.is_running:
            return
        hand.kill()
        hand.given["seed"] += 1
        hand.given["count"] -= made(self.crew.folder / "journal" / f"{hand.name}.jsonl")
        hand.start()  # its labels carry its new name

    # The server

    def server_immediate(self, fault: Fault, chance: random.Random) -> None:
        self.stop_server("immediate", fault)

    def server_fast(self, fault: Fault, chance: random.Random) -> None:
        self.stop_server("fast", fault)

    def stop_server(self, mode: str, fault: Fault) -> None:
        if self.is_up:
            self.is_up = False
            self.stand.stop(mode)
            self.undo(fault, self.start_server)

    def start_server(self) -> None:
        if not self.is_up:
            self.stand.start()
            self.is_up = True

    # Connections

    def cut_before_commit(self, fault: Fault, chance: random.Random) -> None:
        self.stand.proxy.cut("before", chance.choice(CUTS))

    def cut_after_commit(self, fault: Fault, chance: random.Random) -> None:
        self.stand.proxy.cut("after", chance.choice(CUTS))

    def half_open(self, fault: Fault, chance: random.Random) -> None:
        self.stand.proxy.half_open(chance, fault.seconds)

    def cancel(self, fault: Fault, chance: random.Random) -> None:
        self.one_backend(ANYBODY + " and state = 'active'", "select pg_cancel_backend(%s)", chance)

    def terminate(self, fault: Fault, chance: random.Random) -> None:
        self.one_backend(ANYBODY, "select pg_terminate_backend(%s)", chance)

    def listener_killed(self, fault: Fault, chance: random.Random) -> None:
        self.one_backend(LISTENERS, "select pg_terminate_backend(%s)", chance)

    def one_backend(self, which: str, what: str, chance: random.Random) -> None:
        with self.stand.connect(application_name="harness") as connection:
            pids = [row[0] for row in connection.execute(which.encode())]
            if pids:
                connection.execute(what.encode(), (chance.choice(pids),))

    # Transactions left open

    def snapshot_held(self, fault: Fault, chance: random.Random) -> None:
        holder = self.stand.connect(autocommit=False, application_name="harness")
        holder.execute("set transaction isolation level repeatable read")
        holder.execute("select count(*) from lonnymq.queue")
        self.let_go(fault, holder)

    def producer_open(self, fault: Fault, chance: random.Random) -> None:
        label = f"open-{fault.chance}"
        channel = f"tenant-{fault.target % 10}"
        holder = self.stand.connect(autocommit=False, application_name="harness")
        number = self.journal.begin("create", labels=[label], channels=[channel])
        self.stand.queue.create(channel, label.encode(), kind="quick", using=holder)
        self.journal.end(number, "create", "refused", rolled_back=True)
        self.let_go(fault, holder)

    def let_go(self, fault: Fault, holder: psycopg.Connection) -> None:
        self.open.append(holder)
        self.undo(fault, holder.close)

    # Settings

    def limits_changed(self, fault: Fault, chance: random.Random) -> None:
        if not self.is_up:
            return
        channel = self.limited[fault.target % len(self.limited)]
        if fault.target % len(self.limited) % 2:
            self.set(channel, release_interval_ms=chance.randint(2, 20), burst=chance.randint(1, 5))
        else:
            self.set(channel, max_concurrency=chance.randint(1, 8))

    def paused(self, fault: Fault, chance: random.Random) -> None:
        channel = f"tenant-{fault.target % 20}"
        self.stand.queue.channel_pause(channel)
        self.resting.add(channel)
        self.undo(fault, lambda: self.resume(channel))

    def resume(self, channel: str) -> None:
        self.stand.queue.channel_resume(channel)
        self.resting.discard(channel)

    def set(self, channel: str, **options: int) -> None:
        set_limits(self.stand, self.journal, channel, **options)


def made(path: Path) -> int:
    """How many messages a producer has begun to make; one that was killed at once has no journal."""
    if not path.exists():
        return 0
    return sum(len(record.get("labels", ())) for record in records_of(path))


def set_limits(stand: Stand, journal: Journal, channel: str, **options: int) -> None:
    """Set a channel's limits, or the queue's, and write it down; one whose outcome is unknown is set again."""
    number = journal.begin("channel_set", channel=channel, options=options)
    for _ in range(600):
        try:
            if channel == QUEUE:
                stand.queue.set(**options)  # type: ignore[arg-type]  # limits are numbers
            else:
                stand.queue.channel_set(channel, **options)  # type: ignore[arg-type]
        except (psycopg.Error, LonnyMQError):
            time.sleep(0.05)
        else:
            journal.end(number, "channel_set", "ok")
            return
    journal.end(number, "channel_set", "unknown")

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
from typing import Any

import psycopg

from faults.call_log import CallLog, read_file
from faults.environment import Environment
from faults.limits import QUEUE
from faults.processes import ProcessGroup, RestartableProcess
from faults.schedule import Fault
from lonnymq.errors import LonnyMQError

ANYBODY = """
select pid from pg_stat_activity
where backend_type = 'client backend' and pid <> pg_backend_pid() and application_name <> 'harness'
"""
LISTENERS = ANYBODY + " and (query ilike 'listen %' or query = 'select 1')"
CUTS = (b"message_create", b"message_complete", b"message_dequeue", b"COMMIT", b"message_fail")


class FaultInjector:
    """Carries out faults at their times, and what undoes them later."""

    def __init__(
        self,
        environment: Environment,
        processes: ProcessGroup,
        call_log: CallLog,
        *,
        limited: list[str],
        log: Callable[[str], None],
    ) -> None:
        self.environment, self.processes, self.call_log, self.limited, self.log = (
            environment, processes, call_log, limited, log,
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
            self.call_log.write(fault=fault.kind, target=fault.target, seconds=fault.seconds)
            self.log(str(fault).strip())
            with suppress(psycopg.Error, LonnyMQError):
                getattr(self, fault.kind)(fault, random.Random(fault.random_seed))
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
        self.environment.proxy.forget()
        for process in self.processes.members:
            process.resume()
        for connection in self.open:
            connection.close()
        for channel in sorted(self.resting):
            self.environment.queue.channel_resume(channel)
        self.processes.restart_ended()

    def choose_process(self, role: str, target: int) -> RestartableProcess:
        """Whom it hits."""
        processes = self.processes.with_role(role)
        return processes[target % len(processes)]

    # Processes

    def worker_sigkill(self, fault: Fault, rng: random.Random) -> None:
        process = self.choose_process("worker", fault.target)
        self.call_log.write(fault="killed", who=process.name)
        process.kill()
        process.start()

    def worker_sigterm(self, fault: Fault, rng: random.Random) -> None:
        process = self.choose_process("worker", fault.target)
        process.resume()
        process.signal(signal.SIGTERM)

        previous = process.popen

        def replace() -> None:
            if process.popen is not previous:
                return  # another fault was quicker
            if process.is_running:
                self.at(time.monotonic() + 0.1, replace)
            else:
                process.start()

        self.at(time.monotonic(), replace)

    def worker_sigstop(self, fault: Fault, rng: random.Random) -> None:
        process = self.choose_process("worker", fault.target)
        self.call_log.write(fault="suspended", who=process.name, seconds=fault.seconds)
        process.suspend()
        self.undo(fault, process.resume)

    def producer_sigkill(self, fault: Fault, rng: random.Random) -> None:
        process = self.choose_process("producer", fault.target)
        if not process.is_running:
            return
        process.kill()
        process.given["seed"] += 1
        process.given["count"] -= made(self.processes.folder / "calls" / f"{process.name}.jsonl")
        process.start()  # its labels carry its new name

    # The server

    def server_immediate(self, fault: Fault, rng: random.Random) -> None:
        self.stop_server("immediate", fault)

    def server_fast(self, fault: Fault, rng: random.Random) -> None:
        self.stop_server("fast", fault)

    def stop_server(self, mode: str, fault: Fault) -> None:
        if self.is_up:
            self.is_up = False
            self.environment.stop(mode)
            self.undo(fault, self.start_server)

    def start_server(self) -> None:
        if not self.is_up:
            self.environment.start()
            self.is_up = True

    # Connections

    def cut_before_commit(self, fault: Fault, rng: random.Random) -> None:
        self.environment.proxy.cut("before", rng.choice(CUTS))

    def cut_after_commit(self, fault: Fault, rng: random.Random) -> None:
        self.environment.proxy.cut("after", rng.choice(CUTS))

    def half_open(self, fault: Fault, rng: random.Random) -> None:
        self.environment.proxy.half_open(rng, fault.seconds)

    def cancel(self, fault: Fault, rng: random.Random) -> None:
        self.one_backend(ANYBODY + " and state = 'active'", "select pg_cancel_backend(%s)", rng)

    def terminate(self, fault: Fault, rng: random.Random) -> None:
        self.one_backend(ANYBODY, "select pg_terminate_backend(%s)", rng)

    def listener_killed(self, fault: Fault, rng: random.Random) -> None:
        self.one_backend(LISTENERS, "select pg_terminate_backend(%s)", rng)

    def one_backend(self, which: str, what: str, rng: random.Random) -> None:
        with self.environment.connect(application_name="harness") as connection:
            pids = [row[0] for row in connection.execute(which.encode())]
            if pids:
                connection.execute(what.encode(), (rng.choice(pids),))

    # Transactions left open

    def snapshot_held(self, fault: Fault, rng: random.Random) -> None:
        holder = self.environment.connect(autocommit=False, application_name="harness")
        holder.execute("set transaction isolation level repeatable read")
        holder.execute("select count(*) from lonnymq.queue")
        self.let_go(fault, holder)

    def producer_open(self, fault: Fault, rng: random.Random) -> None:
        label = f"open-{fault.random_seed}"
        channel = f"tenant-{fault.target % 10}"
        holder = self.environment.connect(autocommit=False, application_name="harness")
        number = self.call_log.begin("create", labels=[label], channels=[channel])
        self.environment.queue.create(channel, label.encode(), kind="quick", using=holder)
        self.call_log.end(number, "create", "rejected", rolled_back=True)
        self.let_go(fault, holder)

    def let_go(self, fault: Fault, holder: psycopg.Connection) -> None:
        self.open.append(holder)
        self.undo(fault, holder.close)

    # Settings

    def limits_changed(self, fault: Fault, rng: random.Random) -> None:
        if not self.is_up:
            return
        channel = self.limited[fault.target % len(self.limited)]
        if fault.target % len(self.limited) % 2:
            self.set(channel, min_interval_ms=rng.randint(2, 20), burst=rng.randint(1, 5))
        else:
            self.set(channel, max_concurrency=rng.randint(1, 8))

    def paused(self, fault: Fault, rng: random.Random) -> None:
        channel = f"tenant-{fault.target % 20}"
        self.environment.queue.channel_pause(channel)
        self.resting.add(channel)
        self.undo(fault, lambda: self.resume(channel))

    def resume(self, channel: str) -> None:
        self.environment.queue.channel_resume(channel)
        self.resting.discard(channel)

    def set(self, channel: str, **options: Any) -> None:
        set_limits(self.environment, self.call_log, channel, **options)


def made(path: Path) -> int:
    """How many messages a producer has begun to make; one that was killed at once has no call_log."""
    if not path.exists():
        return 0
    return sum(len(record.get("labels", ())) for record in read_file(path))


def set_limits(environment: Environment, call_log: CallLog, channel: str, **options: Any) -> None:
    """Set a channel's limits, or the queue's, and write it down; one whose outcome is unknown is set again."""
    number = call_log.begin("channel_set", channel=channel, options=options)
    for _ in range(600):
        try:
            if channel == QUEUE:
                environment.queue.set(**options)
            else:
                environment.queue.channel_set(channel, **options)
        except (psycopg.Error, LonnyMQError):
            time.sleep(0.05)
        else:
            call_log.end(number, "channel_set", "ok")
            return
    call_log.end(number, "channel_set", "unknown")

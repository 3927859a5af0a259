# scripts/make_sync.py writes this file from _async/waits.py: do not edit it.
"""How a Queue waits for the end of messages: one of those who wait listens or polls for all of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import Any

from psycopg import Connection, Notify, sql

from lonnymq import results
from lonnymq.client import calls
from lonnymq.client._sync.connections import Source, run, run_on
from lonnymq.client._sync.pool import DsnSource
from lonnymq.client.arguments import Duration, milliseconds, optional
from lonnymq.client.notifications import read_notifications, wait_event
from lonnymq.errors import WaitTimeout, translated

FIRST_POLL_SECONDS, LAST_POLL_SECONDS = 0.05, 5.0
LAST_POLL_SECONDS_WITHOUT_LISTEN = 0.5
MAX_IDS = 10_000  # of one call


class Wait:
    """One call of `wait` or `wait_many`: which messages have not ended yet, and what became of the others."""

    def __init__(self, ids: Sequence[int], timeout: float | None) -> None:
        self.ids, self.left = list(ids), set(ids)
        self.found: dict[int, results.MessageStatus] = {}
        self.deadline = None if timeout is None else monotonic() + timeout
        self.timeout = timeout
        self.event = threading.Event()  # it has ended, or its turn to listen has come

    def seconds_left(self, longest: float) -> float:
        """The seconds until the time is up, or `longest` if that is earlier."""
        return longest if self.deadline is None else min(longest, self.deadline - monotonic())

    def is_over(self) -> bool:
        """Whether all messages have ended. Raises WaitTimeout if the time is up."""
        if not self.left:
            return True
        if self.deadline is not None and monotonic() >= self.deadline:
            status = self.found.get(min(self.left))
            state = None if status is None else status.state
            raise WaitTimeout(sorted(self.left), self.timeout, state)
        return False

    def deliver(self, statuses: Sequence[results.MessageStatus]) -> None:
        """Take in what became of messages."""
        for status in statuses:
            if status.id in self.left:
                self.found[status.id] = status
                if status.has_ended:
                    self.left.discard(status.id)
        if not self.left:
            self.event.set()


class Waits:
    """All waits of a queue. The first that waits is the leader, who listens or polls for all, until its own end."""

    def __init__(self, source: Source, schema: str) -> None:
        self.source, self.schema = source, schema
        self.guard = threading.Lock()
        self.open: list[Wait] = []
        self.joined = 0
        self.leader: Wait | None = None
        self.is_pooled = not isinstance(source, DsnSource) or source.slots.count == 1

    def wait(self, ids: Sequence[int], timeout_ms: Duration | None) -> list[results.MessageStatus]:
        """What became of the messages, when all of them have ended."""
        limit = optional(milliseconds, "timeout_ms", timeout_ms)
        wait = Wait(ids, None if limit is None else limit / 1000)
        with self.guard:
            self.open.append(wait)
            self.joined += 1
        try:
            # Who comes later asks by itself once: the leader listens already.
            if self.lead(wait):
                self.serve(wait)
            else:
                self.check(None, set(wait.left))
            while not wait.is_over():
                if self.lead(wait):
                    self.serve(wait)
                else:
                    wait_event(wait.event, wait.seconds_left(threading.TIMEOUT_MAX))
        finally:
            self.leave(wait)
        return [wait.found[each] for each in wait.ids]

    def lead(self, wait: Wait) -> bool:
        """Whether the wait is the leader, which it becomes if there is none."""
        with self.guard:
            self.leader = self.leader or wait
            return self.leader is wait

    def leave(self, wait: Wait) -> None:
        """End a wait; the leader's place goes to another one."""
        with self.guard:
            self.open.remove(wait)
            if self.leader is wait:
                self.leader = self.open[0] if self.open else None
                if self.leader is not None:
                    self.leader.event.set()

    def serve(self, wait: Wait) -> None:
        """Listen for all until the leader's own wait is over; behind a pooler, poll."""
        if not self.is_pooled:
            with self.source.connection() as connection:
                self.is_pooled = connection.prepare_threshold is None
                if not self.is_pooled:
                    with translated():
                        return self.listen(connection, wait)
        pause = FIRST_POLL_SECONDS
        while not self.check(None, None) and not wait.is_over():
            time.sleep(max(0.0, wait.seconds_left(pause)))
            pause = min(pause * 1.5, LAST_POLL_SECONDS_WITHOUT_LISTEN)
        return None

    def listen(self, connection: Connection[Any], wait: Wait) -> None:
        """Ask for those messages that a notification names, and now and then for all."""
        with self.listening(connection) as payloads:
            pause, known = FIRST_POLL_SECONDS, 0
            self.check(connection, None)
            next_check = monotonic() + pause
            while not wait.is_over():
                if not payloads:
                    left = wait.seconds_left(next_check - monotonic())
                    payloads += read_notifications(connection, max(0.0, left))
                named = {int(each) for payload in payloads for each in payload.split(",")}
                payloads.clear()
                if named:
                    self.check(connection, named)
                if monotonic() >= next_check:
                    self.check(connection, None)
                    # A message may have been locked when it was to be watched: a new wait is checked soon.
                    pause = FIRST_POLL_SECONDS if self.joined > known else pause * 2
                    known = self.joined
                    next_check = monotonic() + min(pause, LAST_POLL_SECONDS)

    @contextmanager
    def listening(self, connection: Connection[Any]) -> Iterator[list[str]]:
        """Listen meanwhile. The payloads that arrive beside an answer are added to the list."""
        payloads: list[str] = []
        channel = sql.Identifier(f"ended_{self.schema}")

        def add(notification: Notify) -> None:
            payloads.append(notification.payload)

        connection.add_notify_handler(add)
        connection.execute(sql.SQL("listen {}").format(channel))
        try:
            yield payloads
        finally:
            if not connection.closed:
                connection.execute(sql.SQL("unlisten {}").format(channel))
                connection.remove_notify_handler(add)

    def check(self, connection: Connection[Any] | None, named: set[int] | None) -> bool:
        """Ask for the messages of all waits, or for those that are named. Answers whether nobody waits any more."""
        with self.guard:
            waits = list(self.open)
        ids = sorted(set[int]().union(*[wait.left for wait in waits]))
        if named is not None:
            ids = [each for each in ids if each in named]
        for start in range(0, len(ids), MAX_IDS):
            statuses = self.watch(ids[start : start + MAX_IDS], connection)
            for wait in waits:
                wait.deliver(statuses)
        return not any(wait.left for wait in waits)

    def watch(
        self, ids: Sequence[int], connection: Connection[Any] | None = None
    ) -> list[results.MessageStatus]:
        """Ask what became of messages, and to be notified of their end."""
        call = calls.message_watch(self.schema, ids)
        if connection is None:
            return run(self.source, call)
        return run_on(connection, call, prepare=self.source.prepare)

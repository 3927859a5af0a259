"""Small factories for the tests of the engine's rules: plain SQL over psycopg, nothing of the bindings."""

from __future__ import annotations

import contextlib
import json
from collections import namedtuple
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Thread
from typing import Any, TypeVar

import psycopg
from psycopg.rows import namedtuple_row
from psycopg.types.json import Jsonb

from support import eventually

T = TypeVar("T")
Lease = namedtuple("Lease", "id token channel attempt dequeued_at dequeue_at lease_until state")
LEASE = "answer, id, token, channel, attempt, dequeued_at, dequeue_at, lease_until, state, retry_at, cursor"
ENTRIES_READ = """
select coalesce(sum(pg_stat_get_xact_tuples_returned(i.indexrelid)), 0)::bigint
from pg_index i join pg_class c on c.oid = i.indrelid
where c.relnamespace = 'lonnymq'::regnamespace
"""


class Session:
    """One connection in autocommit mode, with the place in the ring that its dequeues keep.

    An impatient one gives up on a lock after half a second, so that a wait is an error and not a hanging test.
    """

    def __init__(self, dsn: str, *, impatient: bool = False) -> None:
        self.connection = psycopg.connect(
            dsn, autocommit=True, prepare_threshold=None, row_factory=namedtuple_row
        )
        self.impatient = impatient
        self.cursor: list[int] | None = None
        self.answer = ""
        self.retry_at: int | None = None

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def rows(self, statement: str, *values: object) -> list[Any]:
        with contextlib.ExitStack() as stack:
            if self.impatient and not self.in_transaction:
                stack.enter_context(self.connection.transaction())
                self.connection.execute("set local lock_timeout = '500ms'")
            result = self.connection.execute(statement.encode(), values or None)
            return result.fetchall() if result.description else []

    def row(self, statement: str, *values: object) -> Any:
        return self.rows(statement, *values)[0]

    def value(self, statement: str, *values: object) -> Any:
        return self.row(statement, *values)[0]

    def column(self, statement: str, *values: object) -> list[Any]:
        return [each[0] for each in self.rows(statement, *values)]

    @property
    def in_transaction(self) -> bool:
        return self.connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE

    @property
    def pid(self) -> int:
        return self.connection.info.backend_pid

    @contextlib.contextmanager
    def open(self) -> Iterator[Session]:
        """A transaction that stays open for the length of the block."""
        with self.connection.transaction():
            if self.impatient:
                self.connection.execute("set local lock_timeout = '500ms'")
            yield self

    # What producers do

    def create(self, channel: str, content: bytes = b"", **options: object) -> int:
        """Create one message and return its id."""
        return self.create_answer(channel, content, **options).id

    def create_answer(self, channel: str, content: bytes = b"", **options: object) -> Any:
        named = "".join(f", p_{name} => %s" for name in options)
        statement = f"select * from lonnymq.message_create(%s, %s{named})"
        return self.row(statement, channel, content, *options.values())

    def create_many(self, channels: Sequence[str], **options: object) -> list[Any]:
        named = "".join(f", p_{name} => %s" for name in options)
        contents = [b""] * len(channels)
        statement = f"select * from lonnymq.message_create_many(%s::text[], %s::bytea[]{named})"
        return self.rows(statement, list(channels), contents, *options.values())

    def fill(self, channel: str, count: int) -> list[int]:
        """Give a channel so many messages that are due, and return their ids."""
        return [each.id for each in self.create_many([channel] * count)]

    def set(self, channel: str, **options: object) -> str:
        return self.value("select lonnymq.channel_set(%s, %s)", channel, Jsonb(options))

    def queue_set(self, **options: object) -> str:
        return self.value("select lonnymq.queue_set(%s)", Jsonb(options))

    # What consumers do

    def dequeue(self, limit: int = 1, lease_ms: int = 30_000) -> list[Lease]:
        """Dequeue, try again while that is contended, and go on from there the next time."""
        while True:
            leases = self.dequeue_once(limit, lease_ms)
            if self.answer != "contended":
                return leases

    def dequeue_once(self, limit: int = 1, lease_ms: int = 30_000) -> list[Lease]:
        statement = f"select {LEASE} from lonnymq.message_dequeue(%s, %s, null, %s::bigint[])"
        found = self.rows(statement, limit, lease_ms, self.cursor)
        self.cursor, self.answer, self.retry_at = (
            found[-1].cursor,
            found[0].answer,
            found[0].retry_at,
        )
        return [lease(each) for each in found if each.answer == "leased"]

    def complete(self, *leases: Lease) -> list[str]:
        return self.settle("complete", leases)

    def settle(self, how: str, leases: Sequence[Lease], **options: object) -> list[str]:
        """Complete, defer, fail or heartbeat, and return the answers."""
        named = "".join(f", p_{name} => %s" for name in options)
        statement = f"select * from lonnymq.message_{how}(%s::bigint[], %s::uuid[]{named})"
        ids, tokens = [each.id for each in leases], [each.token for each in leases]
        return [each.answer for each in self.rows(statement, ids, tokens, *options.values())]

    def drain(self, limit: int = 100, most: int | None = None) -> list[Lease]:
        """Dequeue and complete until nothing is due, or so many were had."""
        had: list[Lease] = []
        while (most is None or len(had) < most) and (leases := self.dequeue(limit)):
            self.complete(*leases)
            had += leases
        return had

    def maintain(self) -> Any:
        return self.row("select * from lonnymq.queue_maintain()")

    # What tests look at

    def check(self) -> list[Any]:
        """What queue_check finds wrong."""
        return self.rows("select * from lonnymq.queue_check()")

    def channel(self, name: str) -> Any:
        found = self.rows("select * from lonnymq.channel where name = %s", name)
        return found[0] if found else None

    def rest(self) -> None:
        """Wait until the last note that was notified of is folded for longer than a producer relies on it."""
        is_old = "(t.notified_at < clock_timestamp() - interval '5 milliseconds')"
        last = "(select * from lonnymq.checkpoint order by id desc limit 1)"
        eventually(lambda: self.column(f"select {is_old} from {last} t") != [False])

    def now(self) -> int:
        return self.value("select lonnymq.epoch()")

    def buffers(self, statement: str) -> int:
        """How many pages a statement touches, those of the functions in it included."""
        plan = self.value(f"explain (analyze, buffers, format json) {statement}")
        plan = plan[0] if not isinstance(plan, str) else json.loads(plan)[0]
        return sum(plan["Plan"][f"Shared {how} Blocks"] for how in ("Hit", "Read"))

    def dequeue_buffers(self, limit: int = 1) -> int:
        return self.buffers(self._dequeue(limit))

    def dequeue_costs(self) -> tuple[int, int]:
        """How many pages a dequeue touches, and how many entries of indexes it reads: dead ones count as well."""
        with self.connection.transaction():
            before = self.value(ENTRIES_READ)
            pages = self.buffers(self._dequeue(1))
            return pages, self.value(ENTRIES_READ) - before

    def _dequeue(self, limit: int) -> str:
        cursor = "null" if self.cursor is None else f"'{{{','.join(map(str, self.cursor))}}}'"
        return f"select * from lonnymq.message_dequeue({limit}, 30000, null, {cursor}::bigint[])"


def lease(row: Any) -> Lease:
    return Lease(*(getattr(row, field) for field in Lease._fields))


def at_once(tasks: Sequence[Callable[[], T]]) -> list[T]:
    """Run each task in a thread of its own, all at once; the first failure is raised."""
    with ThreadPoolExecutor(len(tasks)) as pool:
        return [each.result() for each in [pool.submit(task) for task in tasks]]


def aside(task: Callable[[], T]) -> Future[T]:
    """Run one task in a thread, and go on."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(task())
        except BaseException as error:
            future.set_exception(error)

    Thread(target=run, daemon=True).start()
    return future


def numbered(prefix: str, count: int) -> list[str]:
    width = len(str(count))
    return [f"{prefix}{number:0{width}}" for number in range(count)]

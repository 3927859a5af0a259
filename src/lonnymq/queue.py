"""The queue for synchronous code: one method a SQL function, over a DSN, a pool or a connection."""

from __future__ import annotations

import time
from functools import partial
from typing import Any, Self

from lonnymq import calls
from lonnymq.calls import Duration
from lonnymq.connections import run_dequeue
from lonnymq.handles import Channel, Message
from lonnymq.install import install
from lonnymq.methods.channels import ChannelMethods
from lonnymq.methods.creating import CreateMethods
from lonnymq.methods.dead import DeadMethods
from lonnymq.methods.history import HistoryMethods
from lonnymq.methods.producers import ProducerMethods
from lonnymq.methods.schedules import ScheduleMethods
from lonnymq.methods.settling import SettleMethods
from lonnymq.methods.upkeep import UpkeepMethods
from lonnymq.methods.waiting import WaitingMethods
from lonnymq.methods.workers import WorkerMethods
from lonnymq.results import Batch
from lonnymq.turns import Turns, patience


class Queue(
    ChannelMethods,
    CreateMethods,
    SettleMethods,
    WaitingMethods,
    DeadMethods,
    UpkeepMethods,
    HistoryMethods,
    ScheduleMethods,
    WorkerMethods,
    ProducerMethods,
):
    """A queue in one schema of a PostgreSQL database.

    Over a DSN it opens connections as it needs them and may be used from many threads; `close` closes the idle ones.
    Over a pool each call borrows a connection.
    Over a connection each call joins the transaction that is open on it, or commits by itself if none is.
    Where a method takes `using`, it runs on that connection, inside the caller's transaction, and commits nothing.
    """

    def __init__(self, source: Any, *, schema: str = "lonnymq") -> None:
        super().__init__(source, schema=schema)
        self._turns = Turns()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the idle connections that were opened here; what the caller gave stays open."""
        self._source.close()

    def install(self, *, roles: bool | None = None) -> None:
        """Bring the schema to this version of the library; any number of processes may do so at once.

        With `roles` its functions are granted to roles by what each is for; unsaid, that stays as it is.
        """
        with self._source.connection() as connection:
            install(connection, schema=self.schema, roles=roles)

    def channel(self, name: str) -> Channel:
        """A channel by name, to say things of it; nothing is stored yet."""
        return Channel(calls.channel_name(name), self)

    def dequeue(
        self, limit: int = 1, *, lease_ms: Duration = 30_000, worker: str | None = None
    ) -> Batch[Message]:
        """Lease up to `limit` messages, fair to all channels; an empty batch says why and when to look again."""
        for pause in patience():
            batch = self._dequeue_once(limit, lease_ms, worker)
            if batch.why != "contended":
                break
            time.sleep(pause)
        return batch

    def _dequeue_once(self, limit: int, lease_ms: Duration, worker: str | None) -> Batch[Message]:
        with self._turns.turn() as turn:
            handle = partial(Message, queue=self)
            call = calls.message_dequeue(
                self.schema,
                handle,
                limit=limit,
                lease_ms=lease_ms,
                worker=worker,
                cursor=turn.cursor,
            )
            dequeued = run_dequeue(self._source, call)
            turn.cursor = dequeued.cursor
        return dequeued.batch

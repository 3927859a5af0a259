"""pgmq: its own SQL from its wheel, its own client on one autocommit connection a process: a call is one trip."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import psycopg

from benchmarks.load_control import LoadControl
from benchmarks.payload import Payload
from benchmarks.systems.base import New, System

QUEUE = "bench"
VISIBILITY_SECONDS = 30
GROUP = "x-pgmq-group"


class PgmqClient:
    """The client, told which connection to use: left to its pool it would add a BEGIN and a COMMIT to each call."""

    def __init__(self, dsn: str) -> None:
        from pgmq import PGMQueue
        from psycopg_pool import ConnectionPool

        unused = ConnectionPool(dsn, min_size=0, max_size=1, open=False)
        self.queue = PGMQueue(pool=unused, init_extension=False)
        self.connection: psycopg.Connection | None = psycopg.connect(
            dsn, autocommit=True, prepare_threshold=0
        )

    def create_one(self, channel: str, message: Payload) -> None:
        self.queue.send(QUEUE, message, conn=self.connection)

    def create_many(self, messages: Sequence[New]) -> None:
        self.queue.send_batch(QUEUE, [message for _, message in messages], conn=self.connection)

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()


class PooledClient(PgmqClient):
    """The client as its page shows it: each call takes a connection from the pool and is a transaction of its own."""

    def __init__(self, dsn: str) -> None:
        from pgmq import PGMQueue
        from psycopg_pool import ConnectionPool

        self.pool = ConnectionPool(dsn, min_size=1, max_size=10, open=True)  # as its own would be
        self.queue = PGMQueue(pool=self.pool, init_extension=False)
        self.connection = None

    def close(self) -> None:
        self.pool.close()


class PgmqArchive(System):
    name = "pgmq archive"
    package = "pgmq"
    client = PgmqClient
    load_size = 5_000
    notes = "read_batch(vt=30) and archive_batch, on an autocommit connection handed to each call"

    def install(self, dsn: str) -> None:
        from pgmq import install_pgmq_from_sql

        with psycopg.connect(dsn) as connection:
            install_pgmq_from_sql(conn=connection)
            connection.execute("select pgmq.create(%s)", (QUEUE,))

    def producer(self, dsn: str) -> PgmqClient:
        return self.client(dsn)

    def consume(self, control: LoadControl, dsn: str, batch: int) -> None:
        client = self.client(dsn)
        control.ready()
        while not control.stopped:
            read = self.read(client, batch)
            if not read:
                control.nap()
                continue
            for message in read:
                control.handle(message.message)
            self.settle(client, [message.msg_id for message in read])
            control.done(len(read))
        client.close()

    def read(self, client: PgmqClient, batch: int) -> list[Any]:
        read: list[Any] = client.queue.read_batch(
            QUEUE, vt=VISIBILITY_SECONDS, batch_size=batch, conn=client.connection
        )
        return read

    def settle(self, client: PgmqClient, ids: list[int]) -> None:
        client.queue.archive_batch(QUEUE, ids, conn=client.connection)


class PgmqPooled(PgmqArchive):
    name = "pgmq pooled"
    client = PooledClient
    notes = (
        "PGMQueue with the client's pool, as pgmq documents: a BEGIN and a COMMIT around each call"
    )


class PgmqDelete(PgmqArchive):
    name = "pgmq delete"
    notes = "the same as pgmq archive, with delete_batch"

    def settle(self, client: PgmqClient, ids: list[int]) -> None:
        client.queue.delete_batch(QUEUE, ids, conn=client.connection)


class GroupedClient(PgmqClient):
    """Names the group of each message."""

    def create_one(self, channel: str, message: Payload) -> None:
        self.queue.send(QUEUE, message, headers={GROUP: channel}, conn=self.connection)

    def create_many(self, messages: Sequence[New]) -> None:
        headers = [{GROUP: channel} for channel, _ in messages]
        contents = [message for _, message in messages]
        self.queue.send_batch(QUEUE, contents, headers=headers, conn=self.connection)


class PgmqGrouped(PgmqArchive):
    """pgmq's own round robin over groups, which reads every waiting message to find their heads."""

    name = "pgmq grouped"
    has_tenants = True
    client = GroupedClient
    only_channels = (100,)
    notes = "read_grouped_rr over 100 groups, with the index for groups, and archive_batch"

    def install(self, dsn: str) -> None:
        super().install(dsn)
        with psycopg.connect(dsn) as connection:
            connection.execute("select pgmq.create_fifo_index(%s)", (QUEUE,))

    def read(self, client: PgmqClient, batch: int) -> list[Any]:
        read: list[Any] = client.queue.read_grouped_rr(
            QUEUE, vt=VISIBILITY_SECONDS, qty=batch, conn=client.connection
        )
        return read

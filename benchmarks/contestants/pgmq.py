"""pgmq: its own SQL from its wheel, its own client on one autocommit connection a process: a call is one trip."""

from __future__ import annotations

from collections.abc import Sequence

import psycopg

from benchmarks.contestants.base import Contestant, New
from benchmarks.flow import Flow
from benchmarks.payload import Payload

QUEUE = "bench"
VISIBILITY_SECONDS = 30


class PgmqClient:
    """The client, told which connection to use: left to its pool it would add a BEGIN and a COMMIT to each call."""

    def __init__(self, dsn: str) -> None:
        from pgmq import PGMQueue
        from psycopg_pool import ConnectionPool

        unused = ConnectionPool(dsn, min_size=0, max_size=1, open=False)
        self.queue = PGMQueue(pool=unused, init_extension=False)
        self.connection = psycopg.connect(dsn, autocommit=True, prepare_threshold=0)

    def create_one(self, channel: str, message: Payload) -> None:
        self.queue.send(QUEUE, message, conn=self.connection)

    def create_many(self, messages: Sequence[New]) -> None:
        self.queue.send_batch(QUEUE, [message for _, message in messages], conn=self.connection)

    def close(self) -> None:
        self.connection.close()


class PgmqArchive(Contestant):
    name = "pgmq, archive"
    package = "pgmq"
    load_size = 5_000
    notes = "read_batch(vt=30) and archive_batch, on an autocommit connection handed to each call"

    def install(self, dsn: str) -> None:
        from pgmq import install_pgmq_from_sql

        with psycopg.connect(dsn) as connection:
            install_pgmq_from_sql(conn=connection)
            connection.execute("select pgmq.create(%s)", (QUEUE,))

    def producer(self, dsn: str) -> PgmqClient:
        return PgmqClient(dsn)

    def consume(self, flow: Flow, dsn: str, batch: int) -> None:
        client = PgmqClient(dsn)
        flow.ready()
        while not flow.stopped:
            read = client.queue.read_batch(
                QUEUE, vt=VISIBILITY_SECONDS, batch_size=batch, conn=client.connection
            )
            if not read:
                flow.nap()
                continue
            for message in read:
                flow.handle(message.message)
            self.settle(client, [message.msg_id for message in read])
            flow.done(len(read))
        client.close()

    def settle(self, client: PgmqClient, ids: list[int]) -> None:
        client.queue.archive_batch(QUEUE, ids, conn=client.connection)


class PgmqDelete(PgmqArchive):
    name = "pgmq, delete"
    notes = "the same with delete_batch"

    def settle(self, client: PgmqClient, ids: list[int]) -> None:
        client.queue.delete_batch(QUEUE, ids, conn=client.connection)

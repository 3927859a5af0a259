"""The textbook queue: one table, `for update skip locked`, oldest first. The transaction that works is the lease."""

from __future__ import annotations

from collections.abc import Sequence

import psycopg

from benchmarks.load_control import LoadControl
from benchmarks.payload import Payload, decode, encode
from benchmarks.systems.base import New, System

TABLES = """
create table job (id bigint generated always as identity primary key, tenant text not null, content bytea not null);
"""
TAKE = """
delete from job where id = any (array(
  select j.id from job j order by j.id limit %s for update skip locked
)) returning tenant, content
"""
CREATE = "insert into job (tenant, content) values (%s, %s)"
CREATE_MANY = "insert into job (tenant, content) select * from unnest(%s::text[], %s::bytea[])"


class TableProducer:
    def __init__(self, dsn: str) -> None:
        self.connection = psycopg.connect(dsn, autocommit=True, prepare_threshold=0)

    def create_one(self, channel: str, message: Payload) -> None:
        self.connection.execute(CREATE, (channel, encode(message)), binary=True)

    def create_many(self, messages: Sequence[New]) -> None:
        channels = [channel for channel, _ in messages]
        self.connection.execute(
            CREATE_MANY, (channels, [encode(message) for _, message in messages])
        )

    def create_bulk(self, messages: Sequence[New]) -> None:
        with self.connection.cursor().copy(
            "copy job (tenant, content) from stdin (format binary)"
        ) as copy:
            copy.set_types(("text", "bytea"))
            for channel, message in messages:
                copy.write_row((channel, encode(message)))

    def close(self) -> None:
        self.connection.close()


class SkipLockedTable(System):
    name = "skip locked table"
    backlog = 400_000
    load_size = 20_000
    notes = "delete … returning inside the transaction that handles: begin, take, commit. No leases, no history"

    def install(self, dsn: str) -> None:
        with psycopg.connect(dsn) as connection:
            connection.execute(TABLES)

    def producer(self, dsn: str) -> TableProducer:
        return TableProducer(dsn)

    def consume(self, control: LoadControl, dsn: str, batch: int) -> None:
        with psycopg.connect(dsn, autocommit=True, prepare_threshold=0) as connection:
            control.ready()
            while not control.stopped:
                with connection.transaction():
                    rows = connection.execute(TAKE, (batch,), binary=True).fetchall()
                    for tenant, content in rows:
                        control.handle(decode(content), tenant)
                control.done(len(rows))
                if not rows:
                    control.nap()

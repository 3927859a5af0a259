"""A queue whose tables are published goes on working, and its copy delivers what the original had."""

import psycopg

from lonnymq import NewMessage, Queue
from lonnymq.embedded_postgres import temporary
from server_copies import dump, restore
from support import eventually

MESSAGES = [NewMessage(b"x", channel=f"tenant {each}") for each in range(20)]

NOT_READY = "select count(*) from pg_subscription_rel where srsubstate <> 'r'"


def run(dsn: str, statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def waiting(dsn: str) -> list[tuple[object, ...]]:
    """The live messages of a queue."""
    return run(dsn, "select id, channel from lonnymq.message order by id")


def test_a_queue_that_is_published_works_and_its_copy_delivers_the_rest() -> None:
    with temporary(wal_level="logical") as first, temporary() as second:
        with Queue(first.dsn) as queue:
            queue.install()
            restore(dump(first.dsn, "--schema-only"), second.dsn)
            run(first.dsn, "create publication everything for all tables")
            address = f"host={first.cluster.socket_folder} port=5432 user=postgres dbname=postgres"
            run(
                second.dsn,
                f"create subscription copy connection '{address}' publication everything",
            )
            eventually(lambda: run(second.dsn, NOT_READY) == [(0,)])
            queue.create_many(MESSAGES)
            for message in queue.dequeue(limit=5, lease_ms=60_000):
                message.complete()
            queue.channel_set("tenant 1", max_concurrency=1)
            assert len(queue.dequeue(limit=3, lease_ms=1)) == 3
            queue.maintain()
            assert list(queue.repair()) == []
            queue.create_many(MESSAGES[:4])
            eventually(lambda: waiting(second.dsn) == waiting(first.dsn))
        run(second.dsn, "drop subscription copy")
        left = {row[0] for row in waiting(second.dsn)}
        assert len(left) == 19
        with Queue(second.dsn) as copy:
            delivered: set[int] = set()
            while delivered != left:
                for message in eventually(lambda: copy.dequeue(limit=10)):
                    delivered.add(message.id)
                    message.complete()

"""queue_check finds what is wrong with a queue's own books, and one queue_repair mends it."""

import psycopg
import pytest

import lonnymq

DAMAGE = {
    "a count that is off": "update lonnymq.channel_counter set in_flight = in_flight + 3",
    "slots of what is not leased": "update lonnymq.message set slot = 1 where token is null",
    "a lease that nobody watches": "delete from lonnymq.lease",
    "a lease without an end": "update lonnymq.message set lease_until = null where token is not null",
    "a channel that stands nowhere": "delete from lonnymq.channel_position",
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=list(DAMAGE))
def test_one_repair_mends_it_and_the_queue_goes_on(dsn: str, direct_dsn: str, damage: str) -> None:
    with lonnymq.Queue(dsn) as queue, psycopg.connect(direct_dsn, autocommit=True) as connection:
        queue.channel("acme").set(max_concurrency=2)
        queue.create_many([b""] * 5, channel="acme")
        [leased] = queue.dequeue(limit=1)
        assert queue.check() == []
        while connection.execute("select 1 from lonnymq.change").fetchone():
            queue.maintain()  # the lease is in its table

        connection.execute(damage)
        assert queue.check() != []
        assert queue.repair() != []
        assert queue.check() == []
        assert queue.repair() == []

        assert leased.complete() in ("completed", "lease_lost")
        assert len(queue.dequeue(limit=10)) == 2


def test_what_is_leased_is_counted_once_however_often_its_lease_was_watched(dsn: str) -> None:
    with lonnymq.Queue(dsn) as queue:
        queue.create_many([b""] * 5, channel="acme")
        for message in queue.dequeue(limit=3):
            message.heartbeat(lease_ms=60_000)
        stats = queue.stats()
        assert (stats.leased, stats.waiting, stats.estimated) == (3, 2, False)

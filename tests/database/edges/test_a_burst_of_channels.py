"""Tenants go on while the changes of thousands of new channels wait to be folded."""

from database.rules.conftest import OpenSession

BURST = (
    "select count(*) from lonnymq.message_create_many("
    "array(select 'new ' || i from generate_series(%s::int, %s) i), array_fill('x'::bytea, array[10000]))"
)


def test_a_consumer_that_cannot_fold_leases_in_order_beside_thousands_of_changes(
    open_session: OpenSession, dsn_18: str
) -> None:
    producer, folder, consumer = (open_session(dsn_18) for _ in range(3))
    second = producer.value("select id from lonnymq.message_create('old', 'x', 2000)")
    producer.rows("select * from lonnymq.queue_maintain()")
    folder.connection.execute("begin")
    assert folder.value("select lonnymq.fold_lock()")
    first = producer.value("select id from lonnymq.message_create('old', 'x', 1000)")
    producer.rows(BURST, 1, 10_000)
    assert [each.id for each in consumer.dequeue_once(10)] == [first, second]


def test_a_consumer_that_folds_leases_before_all_changes_are_folded(
    open_session: OpenSession, dsn_18: str
) -> None:
    producer, consumer = open_session(dsn_18), open_session(dsn_18)
    second = producer.value("select id from lonnymq.message_create('old', 'x', 2000)")
    producer.rows("select * from lonnymq.queue_maintain()")
    for first in range(1, 20_001, 10_000):
        producer.rows(BURST, first, first + 9_999)
    first = producer.value("select id from lonnymq.message_create('old', 'x', 1000)")
    leases = consumer.dequeue_once(10_000)
    # The channel has one turn, or two where the ring is so small by then that the call goes round again.
    found = [each.id for each in leases if each.channel == "old"]
    assert found in ([first], [first, second])
    assert producer.value("select count(*) from lonnymq.change where dequeue_at is not null")
    while leases := consumer.dequeue(10_000):
        consumer.complete(*leases)
    assert not producer.rows("select * from lonnymq.queue_check()")

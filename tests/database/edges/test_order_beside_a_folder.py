"""A channel's messages come in order while another transaction moves its floor between two looks of a dequeue."""

import pytest

from database.rules.conftest import OpenSession
from database.rules.factories import aside
from support import eventually, waits_for_a_lock

KEY = 5_517_001
STOP_BEFORE_THE_WALK = """
alter function lonnymq.walk_fold(lonnymq.walk) rename to walk_fold_unstopped;
create function lonnymq.walk_fold(p_walk lonnymq.walk) returns lonnymq.walk language plpgsql as $$
begin
  if coalesce(current_setting('lonnymq_test.stop', true), '') <> '' then
    perform pg_advisory_lock_shared(5517001), pg_advisory_unlock_shared(5517001);
  end if;
  return lonnymq.walk_fold_unstopped(p_walk);
end
$$
"""
CREATE = "select id from lonnymq.message_create('a', 'x', p_dequeue_at => %s)"


@pytest.mark.parametrize("limit", [1, 2])
def test_a_floor_that_moves_between_the_tick_and_the_ring_hides_no_message(
    open_session: OpenSession, dsn_18: str, limit: int
) -> None:
    watcher, producer, folder, consumer = (open_session(dsn_18) for _ in range(4))
    gone, *_ = [producer.value(CREATE, at) for at in (1000, 2000, 3000)]
    consumer.rows("select * from lonnymq.queue_maintain()")
    consumer.rows("select * from lonnymq.message_cancel(array[%s::bigint])", gone)
    consumer.rows("select * from lonnymq.queue_maintain()")
    watcher.rows(STOP_BEFORE_THE_WALK)

    producer.connection.execute("begin")
    earlier = producer.value(CREATE, 1500)
    folder.connection.execute("begin")
    assert folder.value("select lonnymq.fold_lock()")
    folder.rows(
        "select lonnymq.channel_advance_floor(array_agg(id), lonnymq.epoch()) from lonnymq.channel"
    )
    producer.connection.execute("commit")

    watcher.rows("select pg_advisory_lock(%s)", KEY)
    consumer.rows("select set_config('lonnymq_test.stop', 'on', false)")
    future = aside(
        lambda: consumer.rows("select id, answer from lonnymq.message_dequeue(%s)", limit)
    )
    eventually(lambda: future.done() or waits_for_a_lock(watcher.connection, consumer.pid))
    folder.connection.execute("commit")
    watcher.rows("select pg_advisory_unlock(%s)", KEY)
    had = future.result(timeout=60)
    assert had[0].answer == "contended" or had[0].id == earlier

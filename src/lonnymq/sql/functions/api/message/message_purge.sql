-- Deletes the waiting messages of a channel in delivery order, at most `p_limit` per call. With
-- `p_last_id`, messages with a higher id stay: messages that were created after you looked.
--
-- Answers: the number of deleted messages. Call the function again until the answer is 0.
-- Locks: the messages, without waiting. Locked messages are skipped.
-- Notifies: no.
create or replace function lonnymq.message_purge(
  p_channel text, p_limit integer default 10000, p_last_id bigint default null
)
returns bigint
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
begin
  perform lonnymq.guard_text('channel', p_channel);
  perform lonnymq.guard_range('limit', p_limit, 1, 1000000);
  perform lonnymq.commit_durably();
  return cardinality(lonnymq.message_remove(array(
    select m.id from lonnymq.message m
    where m.channel = p_channel and m.token is null
      and (p_last_id is null or m.id <= p_last_id)
    order by m.dequeue_at, m.id
    limit p_limit
    for update skip locked
  )));
end
$$;

comment on function lonnymq.message_purge(text, integer, bigint) is
'Deletes the waiting messages of a channel.';

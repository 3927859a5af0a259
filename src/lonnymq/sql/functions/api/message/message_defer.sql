-- Returns leased messages to their channels, until the given time. A deferred message uses no attempt.
-- `p_states` replaces the state of a message, and null keeps the old state.
--
-- Answers: `deferred` with the time, `lease_lost`, `not_found`.
-- Locks: the messages, in the order of ids, until the transaction ends. Channels are not locked.
-- Notifies: if a channel has no message that is due or scheduled earlier.
create or replace function lonnymq.message_defer(
  p_ids bigint[],
  p_tokens uuid[],
  p_delays_ms bigint[] default null,
  p_states bytea[] default null,
  p_dequeue_ats bigint[] default null
)
returns table (id bigint, answer text, dequeue_at bigint)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_now bigint := lonnymq.epoch();
  v_length integer := cardinality(p_ids);
  v_bad record;
begin
  perform lonnymq.guard_pairs(p_ids, p_tokens);
  perform lonnymq.guard_aligned('delays_ms', p_delays_ms, v_length);
  perform lonnymq.guard_aligned('states', p_states, v_length);
  perform lonnymq.guard_aligned('dequeue_ats', p_dequeue_ats, v_length);
  for v_bad in
    select i.delay_ms, i.dequeue_at, octet_length(i.state) as length
    from unnest(p_delays_ms, p_dequeue_ats, p_states) as i (delay_ms, dequeue_at, state)
    where i.delay_ms not between 0 and 3155760000000
      or octet_length(i.state) > 1048576
      or (i.delay_ms > 0 and i.dequeue_at is not null)
  loop
    if v_bad.length > 1048576 then
      raise exception using errcode = 'LM002',
        message = format('state is %s bytes, at most 1048576 are allowed', v_bad.length),
        hint = 'Store the state elsewhere and keep the address.';
    end if;
    if v_bad.delay_ms > 0 and v_bad.dequeue_at is not null then
      raise exception using errcode = 'LM001',
        message = 'dequeue_at and delay_ms exclude each other',
        hint = 'Give a time or a delay, not both.';
    end if;
    perform lonnymq.guard_range('delay_ms', v_bad.delay_ms, 0, 3155760000000);
  end loop;
  perform lonnymq.commit_durably();

  return query
  select * from lonnymq.lease_end(p_ids, p_tokens, 'deferred', v_now, array(
    select coalesce(i.dequeue_at, v_now + coalesce(i.delay_ms, 0))
    from unnest(p_ids, p_delays_ms, p_dequeue_ats) as i (id, delay_ms, dequeue_at)
  ), p_states => p_states);
end
$$;

comment on function lonnymq.message_defer(bigint[], uuid[], bigint[], bytea[], bigint[]) is
'Returns leased messages to their channels until a later time, with a state.';

create or replace function lonnymq.message_defer(
  p_id bigint,
  p_token uuid,
  p_delay_ms bigint default 0,
  p_state bytea default null,
  p_dequeue_at bigint default null
)
returns text
language sql
volatile
as $$
  select d.answer
  from lonnymq.message_defer(array[p_id], array[p_token], array[p_delay_ms], array[p_state],
    array[p_dequeue_at]) d
$$;

comment on function lonnymq.message_defer(bigint, uuid, bigint, bytea, bigint) is
'Returns one leased message to its channel until a later time, with a state.';

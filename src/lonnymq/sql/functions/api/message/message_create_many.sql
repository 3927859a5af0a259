-- Creates many messages in one or more channels, in the transaction of the caller. The ids follow the
-- order of the arrays.
--
-- Answers: a row per message, in the order of the arrays, see `message_create`. A channel with a
--   capacity accepts the first messages that fit.
-- Locks: none, except that equal keys are waited for, in the order of keys.
-- Notifies: once, if one of the channels has no message that is due.
create or replace function lonnymq.message_create_many(
  p_channels text[],
  p_contents bytea[],
  p_dequeue_ats bigint[] default null,
  p_delays_ms bigint[] default null,
  p_keys text[] default null,
  p_kinds text[] default null,
  p_headers jsonb[] default null,
  p_options jsonb[] default null
)
returns table (ordinal integer, answer text, id bigint, reason text, size bigint, max_size bigint)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_is_asked boolean;
  v_now bigint := lonnymq.epoch();
  v_begin bigint := lonnymq.epoch(now());
  v_channels text[];
  v_is_plain boolean;
  v_is_fresh boolean := not lonnymq.snapshot_is_fixed();
  v_ids bigint[];
  v_ats bigint[];
  v_first_ats bigint[];
  v_first_ids bigint[];
  v_counts integer[];
  v_told boolean[];
  v_is_ahead boolean[];
begin
  perform lonnymq.guard_messages(p_channels, p_contents, p_dequeue_ats, p_delays_ms, p_keys, p_kinds,
    p_headers);
  v_is_plain := lonnymq.commit_durably();

  v_ids := array(
    select nextval('lonnymq.message_id_seq') from generate_series(1, cardinality(p_channels)));
  if p_dequeue_ats is not null or p_delays_ms is not null then
    v_ats := array(
      select lonnymq.message_due(i.dequeue_at, i.delay_ms, v_now, v_begin)
      from unnest(p_dequeue_ats, p_delays_ms) with ordinality as i (dequeue_at, delay_ms, ordinal)
      order by i.ordinal
    );
  end if;

  -- Whoever asks for one of these kinds may wait although others find something in the channels.
  v_is_asked := lonnymq.kind_is_asked(p_kinds);
  -- Each channel with its first message, and where it stands. Plain: no keys, no options, and no channel
  -- among them has a capacity or is being retired.
  select bool_and(p_keys is null and p_options is null and s.name is null and c.max_size is null
      and (c.id is not null or q.default_max_size is null)),
    array_agg(f.channel), array_agg(f.dequeue_at), array_agg(f.id),
    array_agg(f.count), array_agg(not v_is_fresh or v_is_asked or (p.seat is null and p.hold is null
      and (p.wake_at > f.dequeue_at) is not false)),
    array_agg((f.dequeue_at, f.id) >= (coalesce(p.gap_end_at, p.floor_at),
      coalesce(p.gap_end_id, p.floor_id)) and v_is_fresh)
  into v_is_plain, v_channels, v_first_ats, v_first_ids, v_counts, v_told, v_is_ahead
  from (
    select distinct on (i.channel) i.channel, coalesce(i.dequeue_at, v_begin) as dequeue_at, i.id,
      (count(*) over (partition by i.channel))::integer as count
    from unnest(p_channels, v_ats, v_ids) as i (channel, dequeue_at, id)
    order by i.channel, i.dequeue_at, i.id
  ) f
  cross join lonnymq.queue q
  left join lateral (
    select s.name from lonnymq.channel_setting s
    where s.name = f.channel and (s.max_size is not null or s.retiring) limit 1
  ) s on true
  left join lateral (select c.id, c.max_size from lonnymq.channel c where c.name = f.channel limit 1) c on true
  left join lateral (
    select p.* from lonnymq.channel_position p
    where p.channel_id = c.id order by p.version desc limit 1
  ) p on true
  where q.only_row;
  if not v_is_plain then
    return query select * from lonnymq.message_create_each(p_channels, p_contents, coalesce(v_ats,
      array_fill(v_begin, array[cardinality(p_channels)])), p_keys, p_kinds, p_headers,
      lonnymq.message_option_list(p_options, p_dequeue_ats, p_keys, cardinality(p_channels)));
    return;
  end if;

  insert into lonnymq.message (id, channel, content, dequeue_at, created_at, kind, headers)
  select i.id, i.channel, i.content, coalesce(i.dequeue_at, v_begin), v_now, i.kind, i.headers
  from unnest(v_ids, p_channels, p_contents, v_ats, p_kinds, p_headers)
    as i (id, channel, content, dequeue_at, kind, headers);
  -- Before the changes, as message_create does: one of its own says that those who wait are notified already.
  v_is_plain := true = any (v_told) and lonnymq.queue_notify();
  insert into lonnymq.change (channel, dequeue_at, message_id, size, added, notified, can_wait)
  select f.channel, f.dequeue_at, f.id, case when v_is_fresh then 0 else f.count end,
    case when v_is_fresh then f.count else 0 end, f.notified, coalesce(not f.notified and f.is_ahead, false)
  from unnest(v_channels, v_first_ats, v_first_ids, v_counts, v_told, v_is_ahead)
    as f (channel, dequeue_at, id, count, notified, is_ahead);

  return query
  select i.ordinal::integer, 'created', i.id, null::text, null::bigint, null::bigint
  from unnest(v_ids) with ordinality as i (id, ordinal);
end
$$;

comment on function lonnymq.message_create_many(
  text[], bytea[], bigint[], bigint[], text[], text[], jsonb[], jsonb[]
) is
'Creates many messages in one or more channels.';

-- Adds many messages, to one channel or to many, inside the caller's transaction. They keep their
-- order: ids follow the order of the arrays.
--
-- Answers: one row a message, in the order given: see message_create. A channel with a capacity takes
--   the first ones that fit.
-- Locks: none that anybody could wait for, except on equal names, and these in the order of names.
-- Notifies: once, when one of the channels has nothing due.
create or replace function lonnymq.message_create_many(
  p_channels text[],
  p_contents bytea[],
  p_dequeue_ats bigint[] default null,
  p_delays_ms bigint[] default null,
  p_names text[] default null,
  p_kinds text[] default null,
  p_headers jsonb[] default null
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
  v_length integer := cardinality(p_channels);
  v_now bigint := lonnymq.epoch();
  v_begin bigint := lonnymq.epoch(now());
  v_bad record;
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
  if p_channels is null or p_contents is null or v_length <> cardinality(p_contents) then
    raise exception using errcode = 'LM001',
      message = format('as many contents as channels are needed: there are %s channels and %s contents',
        coalesce(v_length, 0), coalesce(cardinality(p_contents), 0));
  end if;
  if v_length > 10000 then
    raise exception using errcode = 'LM002',
      message = format('a call takes at most 10000 messages, not %s', v_length),
      hint = 'Send them in several calls, or load them with COPY and message_announce.';
  end if;
  if cardinality(p_dequeue_ats) <> v_length or cardinality(p_delays_ms) <> v_length
    or cardinality(p_names) <> v_length or cardinality(p_kinds) <> v_length
    or cardinality(p_headers) <> v_length
  then
    perform lonnymq.guard_aligned('dequeue_ats', p_dequeue_ats, v_length);
    perform lonnymq.guard_aligned('delays_ms', p_delays_ms, v_length);
    perform lonnymq.guard_aligned('names', p_names, v_length);
    perform lonnymq.guard_aligned('kinds', p_kinds, v_length);
    perform lonnymq.guard_aligned('headers', p_headers, v_length);
  end if;
  if p_delays_ms is not null or p_names is not null or p_kinds is not null or p_headers is not null
    or exists (
      select from unnest(p_channels, p_contents) as i (channel, content)
      where i.channel is null or octet_length(i.channel) not between 1 and 255
        or i.content is null or octet_length(i.content) > 67108864)
  then
    for v_bad in
      select i.*
      from unnest(p_channels, p_contents, p_dequeue_ats, p_delays_ms, p_names, p_kinds, p_headers)
        as i (channel, content, dequeue_at, delay_ms, name, kind, headers)
      where i.channel is null or octet_length(i.channel) not between 1 and 255
        or i.content is null or octet_length(i.content) > 67108864
        or octet_length(i.name) not between 1 and 255 or octet_length(i.kind) not between 1 and 255
        or i.delay_ms is not null or i.headers is not null
    loop
      perform lonnymq.guard_message(v_bad.channel, v_bad.content, v_bad.dequeue_at, v_bad.delay_ms,
        v_bad.name, v_bad.kind, v_bad.headers);
    end loop;
  end if;
  if current_user <> session_user then
    perform from lonnymq.confined c limit 1;
    if found then
      perform lonnymq.guard_channel(c.name) from (select distinct unnest(p_channels) as name) c;
    end if;
  end if;
  v_is_plain := lonnymq.commit_durably();

  v_ids := array(select nextval('lonnymq.message_id_seq') from generate_series(1, v_length));
  if p_dequeue_ats is not null or p_delays_ms is not null then
    v_ats := array(
      select case
        when i.dequeue_at is not null then i.dequeue_at
        when i.delay_ms > 0 then v_now + i.delay_ms
        else v_begin
      end
      from unnest(p_dequeue_ats, p_delays_ms) with ordinality as i (dequeue_at, delay_ms, ordinal)
      order by i.ordinal
    );
  end if;

  -- Each channel with its first message, and where it stands. Plain: no names, and no channel among
  -- them has a capacity or is being released.
  select bool_and(p_names is null and s.name is null and c.max_size is null
      and (c.id is not null or q.default_max_size is null)),
    array_agg(f.channel), array_agg(f.dequeue_at), array_agg(f.id),
    array_agg(f.count), array_agg(p.seat is null and p.hold is null
      and (p.wake_at > f.dequeue_at) is not false),
    array_agg((f.dequeue_at, f.id) >= (p.floor_at, p.floor_id) and v_is_fresh)
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
    where s.name = f.channel and (s.max_size is not null or s.releasing) limit 1
  ) s on true
  left join lateral (
    select c.id, c.max_size from lonnymq.channel c where c.name = f.channel limit 1
  ) c on true
  left join lateral (
    select p.seat, p.hold, p.wake_at, p.floor_at, p.floor_id from lonnymq.place p
    where p.channel_id = c.id order by p.version desc limit 1
  ) p on true
  where q.only_row;
  if not v_is_plain then
    return query select * from lonnymq.message_create_each(p_channels, p_contents, p_dequeue_ats,
      p_delays_ms, p_names, p_kinds, p_headers);
    return;
  end if;

  insert into lonnymq.message (id, channel, content, dequeue_at, created_at, kind, headers)
  select i.id, i.channel, i.content, coalesce(i.dequeue_at, v_begin), v_now, i.kind, i.headers
  from unnest(v_ids, p_channels, p_contents, v_ats, p_kinds, p_headers)
    as i (id, channel, content, dequeue_at, kind, headers);
  -- Before the notes, as message_create does: one of its own says that those who wait are told already.
  v_is_plain := true = any (v_told) and lonnymq.queue_tell();
  insert into lonnymq.note (channel, dequeue_at, message_id, size, added, told, quiet)
  select f.channel, f.dequeue_at, f.id, case when v_is_fresh then 0 else f.count end,
    case when v_is_fresh then f.count else 0 end, f.told, coalesce(not f.told and f.is_ahead, false)
  from unnest(v_channels, v_first_ats, v_first_ids, v_counts, v_told, v_is_ahead)
    as f (channel, dequeue_at, id, count, told, is_ahead);

  return query
  select i.ordinal::integer, 'created', i.id, null::text, null::bigint, null::bigint
  from unnest(v_ids) with ordinality as i (id, ordinal);
end
$$;

comment on function lonnymq.message_create_many(
  text[], bytea[], bigint[], bigint[], text[], text[], jsonb[]
) is
'Adds many messages, to one channel or to many.';

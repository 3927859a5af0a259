-- Folds notes into channels: what was told since the last time becomes seats, counts and floors.
-- Called by whoever holds the fold lock (fold_lock), in a dequeue or a sweep.
--
-- A note is read once: a tick says up to which transaction notes were folded, and which of the older
-- transactions were still running then, or could not be folded. So notes that are long dead, but kept
-- by somebody's open snapshot, are never passed again.
--
-- Answers: whether a note had to be left because its channel is locked by a dequeue at this moment.
-- Locks: channels that change, in the order of their names, without ever waiting for one.
create or replace function lonnymq.queue_fold(p_now bigint)
returns boolean
language plpgsql
as $$
#variable_conflict use_column
declare
  v_tick lonnymq.tick;
  v_snapshot pg_snapshot;
  v_tids tid[];
  v_xids xid8[];
  v_told text[];
  v_names text[];
  v_due_ats bigint[];
  v_due_ids bigint[];
  v_slots bigint[];
  v_sizes bigint[];
  v_looks boolean[];
  v_queue_slots bigint;
  v_has_new boolean;
  v_locked text[];
  v_busy text[];
begin
  perform lonnymq.lease_expire(p_now, 100);

  select * into v_tick from lonnymq.tick t order by t.id desc limit 1;
  if v_tick.id is null then
    v_tick.until := '0';
    v_tick.again := '{}';
    v_tick.seat_floor := 0;
  elsif v_tick.until > pg_snapshot_xmax(pg_current_snapshot()) then
    -- Restored into a younger cluster: its transaction ids start lower.
    v_tick.until := '0';
  end if;

  with fresh as materialized (
    (
      select n.ctid as tid, n.* from lonnymq.note n
      where n.xid >= v_tick.until
      order by n.xid limit 10000
    )
    union all
    select n.ctid, n.* from lonnymq.note n
    where n.xid = any (v_tick.again) and n.xid < v_tick.until
  ), first_due as (
    select distinct on (f.channel) f.channel, f.dequeue_at, f.message_id
    from fresh f
    where f.dequeue_at is not null
    order by f.channel, f.dequeue_at, f.message_id
  ), by_channel as (
    select f.channel, sum(f.slots) as slots, sum(f.queue_slots) as queue_slots,
      sum(f.size) as size, bool_or(f.look) as look
    from fresh f
    group by f.channel
  ), judged as (
    select b.*, d.dequeue_at, d.message_id, c.name is null as is_new,
      c.name is null or b.look or b.slots <> 0 or (b.size <> 0 and c.max_size is not null)
        or (d.dequeue_at is not null and (
          (c.seat is null and c.hold is null and (c.wake_at is null or d.dequeue_at < c.wake_at))
          or (d.dequeue_at, d.message_id) < (c.floor_at, c.floor_id)
        )) as is_change
    from by_channel b
    left join first_due d on d.channel = b.channel
    left join lonnymq.channel c on c.name = b.channel
    order by b.channel
  )
  select pg_current_snapshot(),
    (select array_agg(f.tid) from fresh f),
    (select array_agg(f.xid) from fresh f),
    (select array_agg(f.channel) from fresh f),
    array_agg(j.channel), array_agg(j.dequeue_at), array_agg(j.message_id),
    array_agg(j.slots), array_agg(j.size), array_agg(j.look),
    array_agg(j.channel) filter (where j.is_change),
    sum(j.queue_slots), bool_or(j.is_new)
  into v_snapshot, v_tids, v_xids, v_told, v_names, v_due_ats, v_due_ids, v_slots, v_sizes,
    v_looks, v_busy, v_queue_slots, v_has_new
  from judged j;

  if v_busy is not null then
    if v_has_new then
      perform lonnymq.channel_found(v_names, v_due_ats, v_due_ids, p_now);
    end if;
    -- Lock first, look after: everything below is decided on rows that are ours.
    select array_agg(l.name) into v_locked
    from (
      select c.name from lonnymq.channel c
      where c.name = any (v_busy)
      order by c.name
      for update skip locked
    ) l;
    select array_agg(b.name) into v_busy
    from unnest(v_busy) as b (name)
    where b.name <> all (coalesce(v_locked, '{}')) and b.name <> '';
    if true = any (v_looks) then
      perform lonnymq.channel_adopt(l.name, p_now)
      from unnest(v_names, v_looks) as l (name, look)
      where l.look and l.name = any (v_locked);
    end if;
    perform lonnymq.channel_place(v_locked, v_names, v_due_ats, v_due_ids, v_slots, v_sizes, p_now);
  end if;
  perform lonnymq.channel_wake(p_now, 1000);
  if v_tids is null then
    return false;
  end if;
  if v_queue_slots <> 0 then
    perform lonnymq.meter_add(0, -v_queue_slots, 0);
  end if;
  if '' = any (v_names) then
    perform lonnymq.queue_adopt();
  end if;

  delete from lonnymq.note n
  where n.ctid = any (
    case when v_busy is null then v_tids
    else (
      select array_agg(f.tid) from unnest(v_tids, v_told) as f (tid, channel)
      where f.channel <> all (v_busy)
    ) end
  );
  perform lonnymq.channel_recount(v_snapshot);

  insert into lonnymq.tick (until, again, seat_floor)
  select
    case when cardinality(v_tids) >= 10000 then v_tick.until else pg_snapshot_xmax(v_snapshot) end,
    array(
      select pg_snapshot_xip(v_snapshot)
      union select pg_current_xact_id()
      union select f.xid from unnest(v_xids, v_told) as f (xid, channel)
        where f.channel = any (v_busy)
      union select a.xid from unnest(v_tick.again) as a (xid) where cardinality(v_tids) >= 10000
    ),
    coalesce((
      select c.seat from lonnymq.channel c
      where c.seat >= v_tick.seat_floor
      order by c.seat limit 1
    ), v_tick.seat_floor);
  delete from lonnymq.tick t where t.id = v_tick.id;
  return v_busy is not null;
end
$$;

comment on function lonnymq.queue_fold(bigint) is
'Folds notes into channels: seats, counts and floors.';

-- Folds notes into channels: what was told since the last time becomes seats, counts and floors.
-- Called by whoever holds the fold lock (fold_lock), in a dequeue or a sweep.
--
-- A note is read once: a tick says up to which transaction notes were folded, and which of the older
-- transactions were still running then, or could not be folded. So notes that are long dead, but kept
-- by somebody's open snapshot, are never passed again.
--
-- Answers: done; more (there are more notes, leases or sleeping channels than one fold takes); busy (a
--   channel is locked by a dequeue at this moment, and its notes were left).
-- Locks: channels that change, in the order of their names, without ever waiting for one.
create or replace function lonnymq.queue_fold(p_now bigint)
returns text
language plpgsql
as $$
#variable_conflict use_column
declare
  c_most constant integer := 2000;
  c_apart constant integer := 50;
  v_tick lonnymq.tick;
  v_snapshot pg_snapshot;
  v_from bigint;
  v_is_late boolean;
  v_is_full boolean;
  v_is_more boolean;
  v_tids tid[];
  v_again xid8[];
  v_queue_slots bigint;
  v_has_told boolean;
  v_has_new boolean;
  v_has_queue boolean;
  v_names text[];
  v_due_ats bigint[];
  v_due_ids bigint[];
  v_slots bigint[];
  v_sizes bigint[];
  v_looks boolean[];
  v_locked text[];
  v_busy text[];
begin
  select * into v_tick from lonnymq.tick t order by t.id desc limit 1;
  if v_tick.id is null then
    v_tick.until := '0';
    v_tick.again := '{}';
    v_tick.seat_floor := 0;
    v_tick.swept_at := -9223372036854775808;
    v_tick.folded_at := '-infinity';
    v_tick.told_at := '-infinity';
  elsif v_tick.until > pg_snapshot_xmax(pg_current_snapshot()) then
    -- Restored into a younger cluster: its transaction ids start lower.
    v_tick.until := '0';
  end if;

  -- What is long gone, but kept by an open snapshot, is not passed by every call: it looks at what has
  -- come since the last full look, and a little before for what was committed late.
  v_is_full := p_now - 1000 >= v_tick.swept_at or p_now < v_tick.swept_at;
  v_from := case
    when p_now < v_tick.swept_at or v_tick.id is null then -9223372036854775808
    when v_is_full then v_tick.swept_at - 60000
    else v_tick.swept_at - 100
  end;
  v_is_late := false;
  if exists (select from lonnymq.lease l where l.due_at > v_from and l.due_at <= p_now) then
    v_is_late := (select e.is_more from lonnymq.lease_expire(v_from, p_now, 100) e);
  end if;
  if exists (select from lonnymq.place p where p.wake_at > v_from and p.wake_at <= p_now) then
    v_is_late := lonnymq.channel_wake(v_from, p_now, 1000) or v_is_late;
  end if;
  if v_is_full and not v_is_late then
    v_tick.swept_at := p_now;
  end if;

  with fresh as materialized (
    (
      select n.ctid as tid, n.* from lonnymq.note n
      where not n.quiet and n.xid >= v_tick.until
      order by n.xid limit c_most
    )
    union all
    (
      select n.ctid, n.* from lonnymq.note n
      where n.quiet and n.xid >= v_tick.until
      order by n.xid limit c_most
    )
    union all
    (
      select n.ctid, n.* from lonnymq.note n
      where n.quiet = any ('{false,true}') and n.xid = any (v_tick.again)
        and n.xid < v_tick.until
      limit c_most
    )
  ), by_channel as (
    select f.channel, sum(f.slots) as slots, sum(f.size) as size, bool_or(f.look) as look,
      min(f.dequeue_at) as due_at, min(f.message_id) as due_id
    from fresh f
    group by f.channel
  ), judged as (
    select b.*, c.name is null as is_new,
      c.name is null or b.look or b.slots <> 0 or (b.size <> 0 and c.max_size is not null)
        or (p.seat is null and p.hold is null and b.due_at is not null
          and (p.wake_at is null or b.due_at < p.wake_at))
        or (b.due_at, b.due_id) < (p.floor_at, p.floor_id) as is_change
    from by_channel b
    left join lateral (select * from lonnymq.channel c where c.name = b.channel limit 1) c on true
    left join lateral (
      select * from lonnymq.place p where p.channel_id = c.id order by p.version desc limit 1
    ) p on true
    order by b.channel
  )
  select pg_current_snapshot(),
    (select array_agg(f.tid) from fresh f),
    (select sum(f.queue_slots) from fresh f),
    (select bool_or(f.told) from fresh f),
    bool_or(j.is_new and j.channel <> ''),
    bool_or(j.channel = ''),
    array_agg(j.channel) filter (where j.is_change and j.channel <> ''),
    array_agg(j.due_at) filter (where j.is_change and j.channel <> ''),
    array_agg(j.due_id) filter (where j.is_change and j.channel <> ''),
    array_agg(j.slots) filter (where j.is_change and j.channel <> ''),
    array_agg(j.size) filter (where j.is_change and j.channel <> ''),
    array_agg(j.look) filter (where j.is_change and j.channel <> '')
  into v_snapshot, v_tids, v_queue_slots, v_has_told, v_has_new, v_has_queue, v_names, v_due_ats, v_due_ids,
    v_slots, v_sizes, v_looks
  from judged j;
  if v_tids is null then
    return case when v_is_late then 'more' else 'done' end;
  end if;
  v_is_more := cardinality(v_tids) >= c_most;

  if v_names is not null then
    if v_has_new then
      perform lonnymq.channel_found(v_names, p_now);
    end if;
    -- Lock first, look after: everything below is decided on rows that are ours.
    select array_agg(l.name) into v_locked
    from (
      select c.name from lonnymq.channel c
      where c.name = any (v_names)
      order by c.name
      for update skip locked
    ) l;
    if cardinality(v_locked) is distinct from cardinality(v_names) then
      select array_agg(i.name) filter (where not i.is_ours),
        array_agg(i.name) filter (where i.is_ours), array_agg(i.due_at) filter (where i.is_ours),
        array_agg(i.due_id) filter (where i.is_ours), array_agg(i.slots) filter (where i.is_ours),
        array_agg(i.size) filter (where i.is_ours), array_agg(i.look) filter (where i.is_ours)
      into v_busy, v_names, v_due_ats, v_due_ids, v_slots, v_sizes, v_looks
      from (
        select u.*, u.name = any (coalesce(v_locked, '{}')) as is_ours
        from unnest(v_names, v_due_ats, v_due_ids, v_slots, v_sizes, v_looks)
          as u (name, due_at, due_id, slots, size, look)
      ) i;
    end if;
    if true = any (v_looks) then
      perform lonnymq.channel_adopt(l.name, p_now)
      from unnest(v_names, v_looks) as l (name, look)
      where l.look;
    end if;
    perform lonnymq.channel_place(v_names, v_due_ats, v_due_ids, v_slots, v_sizes, p_now);
  end if;
  if v_busy is not null then
    -- The notes of a channel that is locked are left, and their transactions looked at again.
    select array_agg(n.ctid) filter (where not n.is_busy),
      coalesce(sum(n.queue_slots) filter (where not n.is_busy), 0),
      array_agg(n.xid) filter (where n.is_busy)
    into v_tids, v_queue_slots, v_again
    from (
      select n.ctid, n.xid, n.queue_slots, n.channel = any (v_busy) as is_busy
      from lonnymq.note n where n.ctid = any (v_tids)
    ) n;
  end if;
  if v_queue_slots <> 0 then
    perform lonnymq.meter_add(0, -v_queue_slots, 0);
  end if;
  if v_has_queue then
    perform lonnymq.queue_adopt();
  end if;
  delete from lonnymq.note n where n.ctid = any (v_tids);
  if exists (
    select from lonnymq.channel c where c.recount_after <= pg_snapshot_xmin(v_snapshot)
  ) then
    perform lonnymq.channel_recount(v_snapshot);
  end if;

  -- A tick spares the next fold what this one has deleted: it can wait until that is worth a row.
  if v_is_full or v_is_more or v_busy is not null or v_tick.id is null
    or v_tick.folded_at < clock_timestamp() - interval '20 milliseconds'
    or (v_has_told and v_tick.told_at < clock_timestamp() - interval '2 milliseconds')
    or pg_snapshot_xmax(v_snapshot)::text::bigint - v_tick.until::text::bigint >= c_apart
  then
    insert into lonnymq.tick (until, again, seat_floor, swept_at, folded_at, told_at)
    select
      case when v_is_more then v_tick.until else pg_snapshot_xmax(v_snapshot) end,
      array(
        select pg_snapshot_xip(v_snapshot)
        union select pg_current_xact_id()
        union select a.xid from unnest(v_again) as a (xid)
        union select a.xid from unnest(v_tick.again) as a (xid) where v_is_more
      ),
      coalesce((
        select p.seat from lonnymq.place p
        where p.seat >= v_tick.seat_floor
        order by p.seat limit 1
      ), v_tick.seat_floor),
      v_tick.swept_at, clock_timestamp(),
      case when v_has_told then clock_timestamp() else v_tick.told_at end;
    delete from lonnymq.tick t where t.id = v_tick.id;
  end if;
  return case when v_is_more or v_is_late then 'more' when v_busy is not null then 'busy' else 'done'
    end;
end
$$;

comment on function lonnymq.queue_fold(bigint) is
'Folds notes into channels: seats, counts and floors.';

-- Reads changes that are not folded yet, grouped by channel, for channels that the changes affect. A
-- change is read once: a checkpoint stores up to which transaction changes were folded, and which older
-- transactions were still running. So deleted changes that an open snapshot keeps are never read again.
create or replace function lonnymq.fold_read(p_checkpoint lonnymq.checkpoint, p_limit integer)
returns lonnymq.fold_batch
language plpgsql
stable
as $$
declare
  v_batch lonnymq.fold_batch;
begin
  with fresh as materialized (
    (
      select n.ctid as tid, n.* from lonnymq.change n
      where n.can_wait = any ('{false,true}') and n.xid >= p_checkpoint.until_xid and n.message_ids is null
      limit p_limit
    )
    union all
    (
      select n.ctid, n.* from lonnymq.change n
      where n.can_wait = any ('{false,true}') and n.xid = any (p_checkpoint.running_xids)
        and n.xid < p_checkpoint.until_xid
        and n.message_ids is null
      limit p_limit
    )
  ), change as (
    select f.channel, f.slots, f.size + f.added as size, f.rescan, f.recount, f.recheck, f.dequeue_at,
      f.message_id, f.last_at, f.last_id
    from fresh f where f.channel <> ''
    union all
    select s.channel, 1, 0, false, false, false, null, null, null, null
    from fresh f cross join unnest(f.slot_channels) as s (channel)
  ), by_channel as (
    select f.channel, sum(f.slots) as slots, sum(f.size) as size, bool_or(f.rescan) as rescan,
      bool_or(f.recount) as recount, bool_or(f.recheck) as recheck,
      min(f.dequeue_at) as due_at, min(f.message_id) filter (where f.dequeue_at is not null) as due_id,
      max(f.last_at) filter (where f.dequeue_at <= n.now_at) as last_at,
      max(f.last_id) filter (where f.dequeue_at <= n.now_at) as last_id,
      min(f.dequeue_at) filter (where f.last_at is null) as next_at,
      min(f.message_id) filter (where f.last_at is null and f.dequeue_at is not null) as next_id
    from change f cross join (select lonnymq.epoch() as now_at) n
    group by f.channel
  ), judged as (
    select b.*, c.name is null as is_new, case when c.max_size is null then 0 else b.size end as sized,
      c.name is null or b.rescan or b.recount or b.recheck or b.slots <> 0
        or (b.size <> 0 and c.max_size is not null)
        or (p.seat is null and p.hold is null and b.due_at is not null
          and (p.wake_at is null or b.due_at < p.wake_at))
        or (b.due_at, b.due_id) < (coalesce(p.gap_end_at, p.floor_at),
          coalesce(p.gap_end_id, p.floor_id)) as is_change
    from by_channel b
    left join lateral (select * from lonnymq.channel c where c.name = b.channel limit 1) c on true
    left join lateral (
      select * from lonnymq.channel_position p where p.channel_id = c.id order by p.version desc limit 1
    ) p on true
    order by b.channel
  )
  select (select array_agg(f.tid) from fresh f),
    (select sum(f.queue_slots) from fresh f),
    (select bool_or(f.notified) from fresh f),
    bool_or(j.is_new),
    array_agg(j.channel) filter (where j.is_change),
    array_agg(j.due_at) filter (where j.is_change),
    array_agg(j.due_id) filter (where j.is_change),
    array_agg(j.slots) filter (where j.is_change),
    array_agg(j.sized) filter (where j.is_change),
    array_agg(j.rescan) filter (where j.is_change),
    array_agg(j.recount) filter (where j.is_change),
    array_agg(j.last_at) filter (where j.is_change),
    array_agg(j.last_id) filter (where j.is_change),
    array_agg(j.next_at) filter (where j.is_change),
    array_agg(j.next_id) filter (where j.is_change)
  into v_batch.tids, v_batch.queue_slots, v_batch.has_notified, v_batch.has_new, v_batch.names,
    v_batch.due_ats, v_batch.due_ids, v_batch.slots, v_batch.sizes, v_batch.rescans, v_batch.recounts,
    v_batch.last_ats, v_batch.last_ids, v_batch.next_ats, v_batch.next_ids
  from judged j;
  v_batch.is_more := coalesce(cardinality(v_batch.tids) >= p_limit, false);
  return v_batch;
end
$$;

comment on function lonnymq.fold_read(lonnymq.checkpoint, integer) is
'Reads changes that are not folded yet, grouped by channel.';

-- Locks the channels of a batch of changes, by name and without waiting. Channels that another call
--   holds are left out: their changes stay, and the next fold reads their transactions again.
create or replace function lonnymq.fold_lock_channels(p_batch lonnymq.fold_batch)
returns lonnymq.fold_batch
language plpgsql
as $$
declare
  v_locked text[];
begin
  -- Lock first, look after: everything that follows is decided on rows that are ours.
  select array_agg(l.name) into v_locked
  from (
    select c.name from lonnymq.channel c
    where c.name = any (p_batch.names)
    order by c.name
    for update skip locked
  ) l;
  if 0 <> any (p_batch.slots) or 0 <> any (p_batch.sizes) then
    -- A dequeue that counts leases holds the counter, and not the channel.
    select array_agg(l.name) into v_locked
    from unnest(p_batch.names, p_batch.slots, p_batch.sizes) as l (name, slots, size)
    left join lateral (
      select c.id from lonnymq.channel c where (l.slots <> 0 or l.size <> 0) and c.name = l.name limit 1
    ) c on true
    left join lateral (
      select m.channel_id from lonnymq.channel_counter m
      where m.channel_id = c.id order by m.version desc limit 1
      for update skip locked
    ) m on true
    where (cardinality(v_locked) = cardinality(p_batch.names) or l.name = any (v_locked))
      and (c.id is null or m.channel_id is not null
        or (select n.channel_id from lonnymq.channel_counter n where n.channel_id = c.id limit 1) is null);
  end if;
  if cardinality(v_locked) = cardinality(p_batch.names) then
    return p_batch;
  end if;
  select array_agg(i.name) filter (where not i.is_ours),
    array_agg(i.name) filter (where i.is_ours), array_agg(i.due_at) filter (where i.is_ours),
    array_agg(i.due_id) filter (where i.is_ours), array_agg(i.slots) filter (where i.is_ours),
    array_agg(i.size) filter (where i.is_ours), array_agg(i.rescan) filter (where i.is_ours),
    array_agg(i.recount) filter (where i.is_ours), array_agg(i.last_at) filter (where i.is_ours),
    array_agg(i.last_id) filter (where i.is_ours), array_agg(i.next_at) filter (where i.is_ours),
    array_agg(i.next_id) filter (where i.is_ours)
  into p_batch.busy, p_batch.names, p_batch.due_ats, p_batch.due_ids, p_batch.slots, p_batch.sizes,
    p_batch.rescans, p_batch.recounts, p_batch.last_ats, p_batch.last_ids, p_batch.next_ats,
    p_batch.next_ids
  from (
    select u.*, u.name = any (coalesce(v_locked, '{}')) as is_ours
    from unnest(p_batch.names, p_batch.due_ats, p_batch.due_ids, p_batch.slots, p_batch.sizes,
        p_batch.rescans, p_batch.recounts, p_batch.last_ats, p_batch.last_ids, p_batch.next_ats,
        p_batch.next_ids)
      as u (name, due_at, due_id, slots, size, rescan, recount, last_at, last_id, next_at, next_id)
  ) i;
  -- A change of many channels is folded, and what it says of busy ones is written anew.
  insert into lonnymq.change (channel, slots)
  select s.channel, count(*)
  from lonnymq.change n cross join unnest(n.slot_channels) as s (channel)
  where n.ctid = any (p_batch.tids) and s.channel = any (p_batch.busy)
  group by s.channel;
  select array_agg(n.ctid) filter (where not n.is_busy),
    coalesce(sum(n.queue_slots) filter (where not n.is_busy), 0),
    array_agg(n.xid) filter (where n.is_busy)
  into p_batch.tids, p_batch.queue_slots, p_batch.running_xids
  from (
    select n.ctid, n.xid, n.queue_slots, n.channel = any (p_batch.busy) as is_busy
    from lonnymq.change n where n.ctid = any (p_batch.tids)
  ) n;
  return p_batch;
end
$$;

comment on function lonnymq.fold_lock_channels(lonnymq.fold_batch) is
'Locks the channels of a batch of changes, except channels that another call holds.';

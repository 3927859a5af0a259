-- Counts ended leases in channels of which a batch says nothing else and that are not held: the counter is written, and
-- the channel is neither locked nor moved. These channels leave the batch. A channel whose counter another call holds, or
-- that was held meanwhile, stays in the batch.
-- Locks: the counters, without waiting.
create or replace function lonnymq.fold_slots(p_batch lonnymq.fold_batch)
returns lonnymq.fold_batch
language plpgsql
as $$
declare
  v_ids bigint[];
  v_tids tid[];
  v_slots bigint[];
begin
  select array_agg(i.id), array_agg(m.tid), array_agg(i.slots) into v_ids, v_tids, v_slots
  from unnest(p_batch.counter_ids, p_batch.slots) as i (id, slots)
  cross join lateral (
    select m.ctid as tid from lonnymq.channel_counter m
    where m.channel_id = i.id order by m.version desc limit 1
    for update skip locked
  ) m;
  -- Lock first, look after: whoever takes a seat at a limit holds the counter.
  select array_agg(i.id), array_agg(i.tid), array_agg(i.slots) into v_ids, v_tids, v_slots
  from unnest(v_ids, v_tids, v_slots) as i (id, tid, slots)
  cross join lateral (
    select p.hold from lonnymq.channel_position p
    where p.channel_id = i.id order by p.version desc limit 1
  ) p
  where p.hold is null;
  if v_ids is null then
    return p_batch;
  end if;
  update lonnymq.channel_counter m
  set in_flight = m.in_flight - i.slots, version = m.version + (random() < 0.016)::integer
  from unnest(v_tids, v_slots) as i (tid, slots)
  where m.ctid = i.tid;
  if cardinality(v_ids) = cardinality(p_batch.names) then
    p_batch.names := null;
    return p_batch;
  end if;
  select array_agg(i.name), array_agg(i.due_at), array_agg(i.due_id), array_agg(i.slots),
    array_agg(i.size), array_agg(i.rescan), array_agg(i.recount), array_agg(i.last_at),
    array_agg(i.last_id), array_agg(i.next_at), array_agg(i.next_id)
  into p_batch.names, p_batch.due_ats, p_batch.due_ids, p_batch.slots, p_batch.sizes,
    p_batch.rescans, p_batch.recounts, p_batch.last_ats, p_batch.last_ids, p_batch.next_ats,
    p_batch.next_ids
  from unnest(p_batch.names, p_batch.due_ats, p_batch.due_ids, p_batch.slots, p_batch.sizes,
      p_batch.rescans, p_batch.recounts, p_batch.last_ats, p_batch.last_ids, p_batch.next_ats,
      p_batch.next_ids, p_batch.counter_ids)
    as i (name, due_at, due_id, slots, size, rescan, recount, last_at, last_id, next_at, next_id, id)
  where i.id is null or i.id <> all (v_ids);
  return p_batch;
end
$$;

comment on function lonnymq.fold_slots(lonnymq.fold_batch) is
'Counts ended leases in channels that need not be moved.';

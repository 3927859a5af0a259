-- Counts new leases in the parts of the queue's own limit that the call holds (walk_quota_queue).
create or replace function lonnymq.queue_count_leases(p_walk lonnymq.walk, p_count bigint)
returns void
language plpgsql
as $$
begin
  update lonnymq.channel_counter m
  set in_flight = m.in_flight + p.used, version = m.version + (random() < 0.016)::integer
  from (
    select t.tid, least(t.slots, p_count - (sum(t.slots) over (order by t.place) - t.slots)) as used
    from unnest(p_walk.parts, p_walk.part_slots) with ordinality as t (tid, slots, place)
  ) p
  where m.ctid = p.tid and p.used > 0;
end
$$;

comment on function lonnymq.queue_count_leases(lonnymq.walk, bigint) is
'Counts new leases in the limit of the queue.';

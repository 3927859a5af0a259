-- Gives slots of the queue's own limit back to its parts, for the folder: to part 0 as long as more are in flight than
-- allowed, and otherwise evenly, first to parts with few free slots. Parts that a dequeue holds get none. If all are
-- held, or part 0 is held and owes slots, the slots are left to the next fold.
-- Locks: the parts, without waiting.
create or replace function lonnymq.queue_slots_return(p_slots bigint)
returns void
language plpgsql
as $$
declare
  v_tids tid[];
  v_owed bigint;
  v_rest bigint;
begin
  select array_agg(m.tid order by m.free), min(m.free) filter (where m.id = 0)
  into v_tids, v_owed
  from (
    select i.id, m.tid, m.free
    from generate_series(-15, 0) as i (id)
    cross join lateral (
      select m.ctid as tid, m.size - m.in_flight as free from lonnymq.channel_counter m
      where m.channel_id = i.id order by m.version desc limit 1
      for update skip locked
    ) m
  ) m;
  if v_tids is null or (v_owed is null and (
      select m.size < m.in_flight from lonnymq.channel_counter m
      where m.channel_id = 0 order by m.version desc limit 1))
  then
    insert into lonnymq.change (channel, queue_slots) values ('', p_slots);
    return;
  end if;
  -- Only part 0 can owe slots, and is the first then.
  v_owed := least(p_slots, greatest(0, -coalesce(v_owed, 0)));
  v_rest := p_slots - v_owed;
  update lonnymq.channel_counter m
  set in_flight = m.in_flight - p.slots, version = m.version + (random() < 0.016)::integer
  from (
    select t.tid, case when t.place = 1 then v_owed else 0 end + v_rest / cardinality(v_tids)
      + (t.place <= v_rest % cardinality(v_tids))::integer as slots
    from unnest(v_tids) with ordinality as t (tid, place)
  ) p
  where m.ctid = p.tid and p.slots > 0;
end
$$;

comment on function lonnymq.queue_slots_return(bigint) is
'Gives slots of the limit of the queue back to its parts.';

-- Writes the changes of leases that ended and counted in limits: one for all channels together, and one per channel for
-- messages that count in a capacity. A change can wait if all leases left their channels far from the limit
-- (walk_quota): a dequeue that finds too few slots folds such changes first.
create or replace function lonnymq.slots_free(p_channels text[], p_slots integer[])
returns void
language plpgsql
as $$
begin
  insert into lonnymq.change (channel, slot_channels, queue_slots, can_wait)
  select '', array_agg(o.channel) filter (where o.slot & 1 = 1), count(*) filter (where o.slot & 2 = 2),
    bool_and(o.slot & 8 = 0)
  from unnest(p_channels, p_slots) as o (channel, slot)
  where o.slot & 4 = 0
  having count(*) > 0;
  if exists (select from unnest(p_slots) as o (slot) where o.slot & 4 = 4) then
    insert into lonnymq.change (channel, slots, queue_slots, size)
    select o.channel, sum(o.slot & 1), sum((o.slot >> 1) & 1), -count(*)
    from unnest(p_channels, p_slots) as o (channel, slot)
    where o.slot & 4 = 4
    group by o.channel;
  end if;
end
$$;

comment on function lonnymq.slots_free(text[], integer[]) is
'Writes the changes of leases that ended and counted in limits.';

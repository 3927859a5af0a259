-- Applies folded notes to channels whose rows the caller has locked: counts first, then where the
-- channel stands: seated, held, asleep until a moment, or idle.
--
-- A channel that is freed of a hold gets a seat without a look at its line: if it turns out to be
-- empty, the next walk takes the seat away. Channels that become ready together are seated by what
-- has been due longest, and by lot where that is equal.
create or replace function lonnymq.channel_place(
  p_names text[],
  p_due_ats bigint[],
  p_due_ids bigint[],
  p_slots bigint[],
  p_sizes bigint[],
  p_now bigint
)
returns void
language plpgsql
as $$
#variable_conflict use_column
begin
  perform lonnymq.meter_add(c.id, -i.slots, case when c.max_size is null then 0 else i.size end)
  from unnest(p_names, p_slots, p_sizes) as i (name, slots, size)
  join lonnymq.channel c on c.name = i.name
  where i.slots <> 0 or (i.size <> 0 and c.max_size is not null);

  with judged as materialized (
    select c.name, c.seat, c.hold, i.due_at as told_at, i.due_id as told_id,
      coalesce((i.due_at, i.due_id) < (c.floor_at, c.floor_id), false) as is_lower,
      least(c.wake_at, i.due_at) as due_at,
      case
        when c.hold = 'paused' then 'paused'
        when m.in_flight >= c.max_concurrency then 'saturated'
        when m.tat - (c.burst - 1) * c.release_interval_ms > p_now then 'throttled'
      end as next_hold,
      m.tat - (c.burst - 1) * c.release_interval_ms as allowed_at
    from unnest(p_names, p_due_ats, p_due_ids) as i (name, due_at, due_id)
    join lonnymq.channel c on c.name = i.name
    left join lateral (
      select * from lonnymq.meter m where m.channel_id = c.id order by m.version desc limit 1
    ) m on true
    order by least(c.wake_at, i.due_at), random()
  ), placed as materialized (
    select j.*, case
      when j.next_hold is not null then null
      when j.seat is not null then j.seat
      when j.hold is not null or j.due_at <= p_now then nextval('lonnymq.seat_seq')
    end as next_seat
    from judged j
  )
  update lonnymq.channel c
  set
    floor_at = case when p.is_lower then p.told_at else c.floor_at end,
    floor_id = case when p.is_lower then p.told_id else c.floor_id end,
    hold = p.next_hold,
    seat = p.next_seat,
    wake_at = case
      when p.next_hold = 'throttled' then p.allowed_at
      when p.next_hold is null and p.next_seat is null then p.due_at
    end,
    idle_at = case
      when p.next_hold is null and p.next_seat is null and p.due_at is null then c.idle_at end
  from placed p
  where c.name = p.name;
end
$$;

comment on function lonnymq.channel_place(
  text[], bigint[], bigint[], bigint[], bigint[], bigint
) is
'Applies folded notes to locked channels: counts, floors, seats.';

-- Applies folded notes to channels whose rows the caller has locked: counts first, then where the
-- channel stands: seated, held, asleep until a moment, or idle.
--
-- A channel that is freed of a hold gets a seat without a look at its line: if it turns out to be
-- empty, the next walk takes the seat away. Channels that become ready together are seated by what
-- has been due longest, and by lot where that is equal.
create or replace function lonnymq.channel_place(
  p_locked text[],
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
  where i.name = any (p_locked) and (i.slots <> 0 or (i.size <> 0 and c.max_size is not null));

  with judged as materialized (
    select c.name, c.seat, c.hold, i.due_id,
      coalesce((i.due_at, i.due_id) < (c.floor_at, c.floor_id), false) as is_lower,
      i.due_at as told_at,
      case when c.wake_at is null then i.due_at else least(c.wake_at, i.due_at) end as due_at,
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
    where i.name = any (p_locked)
  ), seated as materialized (
    select r.name, nextval('lonnymq.seat_seq') as seat
    from (
      select j.name
      from judged j
      where j.next_hold is null and j.seat is null and (j.hold is not null or j.due_at <= p_now)
      order by j.due_at, random()
    ) r
  )
  update lonnymq.channel c
  set
    floor_at = case when j.is_lower then j.told_at else c.floor_at end,
    floor_id = case when j.is_lower then j.due_id else c.floor_id end,
    hold = j.next_hold,
    seat = case when j.next_hold is null then coalesce(c.seat, s.seat) end,
    wake_at = case
      when j.next_hold = 'throttled' then j.allowed_at
      when j.next_hold is null and coalesce(c.seat, s.seat) is null then j.due_at
    end,
    idle_at = case when j.due_at is null and j.next_hold is null and c.seat is null then c.idle_at
      end
  from judged j
  left join seated s on s.name = j.name
  where c.name = j.name;
end
$$;

comment on function lonnymq.channel_place(
  text[], text[], bigint[], bigint[], bigint[], bigint[], bigint
) is
'Applies folded notes to locked channels: counts, floors, seats.';

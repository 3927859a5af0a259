-- Applies folded changes to channels whose rows the caller has locked: counters first, then the position
-- of the channel: seated, held, asleep until a time, or idle.
--
-- A channel that is freed of a hold gets a seat without a check of its messages. If the channel is
-- empty, the next walk takes the seat away. Channels that become ready together are seated by the time
-- of their first message, and at random for equal times.
create or replace function lonnymq.channel_apply_changes(p_batch lonnymq.fold_batch, p_now bigint)
returns void
language plpgsql
as $$
#variable_conflict use_column
declare
  v_old tid[];
  v_new lonnymq.channel_position[];
begin
  if 0 <> any (p_batch.slots) or 0 <> any (p_batch.sizes) then
    perform lonnymq.channel_counter_move(m.ids, m.in_flights, m.sizes)
    from (
      select array_agg(c.id) as ids, array_agg(-i.slots) as in_flights,
        array_agg(case when c.max_size is null then 0 else i.size end) as sizes
      from unnest(p_batch.names, p_batch.slots, p_batch.sizes) as i (name, slots, size)
      cross join lateral (select * from lonnymq.channel c where c.name = i.name limit 1) c
      where i.slots <> 0 or (i.size <> 0 and c.max_size is not null)
    ) m
    where m.ids is not null;
  end if;

  with judged as materialized (
    select p.*, i.due_at as notified_at, i.due_id as told_id,
      coalesce((i.due_at, i.due_id) < (p.floor_at, p.floor_id), false) as is_lower,
      least(p.wake_at, i.due_at) as due_at,
      case when (i.due_at, i.due_id) < (coalesce(p.gap_end_at, p.floor_at),
          coalesce(p.gap_end_id, p.floor_id)) then
          lonnymq.channel_gap(p.gap, array[p.floor_at, p.floor_id],
            case when i.last_at is not null then array[i.last_at, i.last_id] end,
            case when i.next_at is not null then array[i.next_at, i.next_id] end, p_now)
        else p.gap end as next_gap,
      case
        when p.hold = 'paused' then 'paused'
        when m.in_flight >= c.max_concurrency then 'saturated'
        when m.tat - (c.burst - 1) * c.min_interval_ms > p_now then 'throttled'
      end as next_hold,
      m.tat - (c.burst - 1) * c.min_interval_ms as allowed_at
    from unnest(p_batch.names, p_batch.due_ats, p_batch.due_ids, p_batch.last_ats, p_batch.last_ids,
        p_batch.next_ats, p_batch.next_ids)
      as i (name, due_at, due_id, last_at, last_id, next_at, next_id)
    cross join lateral (select * from lonnymq.channel c where c.name = i.name limit 1) c
    cross join lateral (
      select p.ctid as tid, p.*,
        case when p.gap_at is not null then array[p.gap_at, p.gap_id, p.gap_end_at, p.gap_end_id] end as gap
      from lonnymq.channel_position p
      where p.channel_id = c.id order by p.version desc limit 1
    ) p
    left join lateral (
      select * from lonnymq.channel_counter m where m.channel_id = c.id order by m.version desc limit 1
    ) m on true
    order by least(p.wake_at, i.due_at), random()
  ), placed as materialized (
    select j.*, case
      when j.next_hold is not null then null
      when j.seat is not null then j.seat
      when j.hold is not null or j.due_at <= p_now then nextval('lonnymq.seat_seq')
    end as next_seat
    from judged j
  ), standing as (
    select d.*,
      case
        when d.next_hold = 'throttled' then d.allowed_at
        when d.next_hold is null and d.next_seat is null then d.due_at
      end as next_wake_at
    from placed d
  )
  select array_agg(s.tid), array_agg(row(
    s.channel_id, s.version + 1, s.next_seat, s.next_wake_at,
    case when s.is_lower then s.notified_at else s.floor_at end,
    case when s.is_lower then s.told_id else s.floor_id end,
    case when s.next_hold is null and s.next_seat is null and s.due_at is null then s.idle_at end,
    s.next_hold, s.next_gap[1], s.next_gap[2], s.next_gap[3], s.next_gap[4]
  )::lonnymq.channel_position)
  into v_old, v_new
  from standing s
  where s.is_lower or s.next_gap is distinct from s.gap or s.next_seat is distinct from s.seat or s.next_hold is distinct from s.hold
    or s.next_wake_at is distinct from s.wake_at;
  if v_old is not null then
    perform lonnymq.channel_position_move(v_old, v_new);
  end if;
end
$$;

comment on function lonnymq.channel_apply_changes(lonnymq.fold_batch, bigint) is
'Applies folded changes to locked channels: counters, floors, seats.';

-- Applies folded changes to the rings of filters, after channel_apply_changes: a channel with a message of the kinds
-- gets a seat, or a time to wake at, and its floor falls. A channel that was held, and is no more, returns to the ring.
-- The changes are given by ctid. Only the folder writes these rows, so no row is locked.
-- Notifies: if a channel returns. Whoever ended the hold may take other kinds.
create or replace function lonnymq.kind_apply_changes(p_tids tid[], p_now bigint)
returns void
language plpgsql
as $$
#variable_conflict use_column
declare
  v_old tid[];
  v_new lonnymq.kind_position[];
  v_is_freed boolean;
begin
  with changed as materialized (
    select n.channel, bool_or(n.rescan) as rescan, min(n.dequeue_at) as due_at,
      min(n.message_id) filter (where n.dequeue_at is not null) as due_id
    from (
      select n.channel, n.rescan or n.recount as rescan, n.dequeue_at, n.message_id
      from lonnymq.change n
      where n.ctid = any (p_tids) and n.channel <> '' and n.message_ids is null
      union all
      select s.channel, false, null, null
      from lonnymq.change n cross join unnest(n.slot_channels) as s (channel)
      where n.ctid = any (p_tids)
    ) n
    group by n.channel
  ), judged as materialized (
    select c.id as channel_id, f.id as filter_id, p.tid, p.seat, p.wake_at, p.floor_at, p.floor_id,
      coalesce(p.is_held, false) as is_held, h.hold,
      case when h.hold = 'throttled' then h.wake_at else 9223372036854775807 end as hold_until,
      m.dequeue_at as first_at, m.id as first_id,
      p.tid is null or (m.dequeue_at, m.id) < (p.floor_at, p.floor_id) as is_lower
    from (
      select d.channel, case when d.rescan then -9223372036854775808 else d.due_at end as due_at,
        case when d.rescan then 0 else coalesce(d.due_id, 0) end as due_id
      from changed d
    ) d
    cross join lateral (select c.id, c.name from lonnymq.channel c where c.name = d.channel limit 1) c
    left join lateral (
      select p.hold, p.wake_at from lonnymq.channel_position p
      where p.channel_id = c.id order by p.version desc limit 1
    ) h on true
    cross join lonnymq.kind_filter f
    left join lateral (
      select p.ctid as tid, p.* from lonnymq.kind_position p
      where p.channel_id = c.id and p.filter_id = f.id order by p.version desc limit 1
    ) p on true
    left join lateral (
      select m.dequeue_at, m.id from lonnymq.kind_first(c.name, f.kinds, d.due_at, d.due_id, p_now) m
      where d.due_at is not null
        -- Not where the ring shows the message already.
        and ((p.floor_at, p.floor_id) <= (d.due_at, d.due_id)
          and (p.seat is not null or p.is_held or p.wake_at <= d.due_at)) is not true
    ) m on true
    where m.id is not null or p.is_held
    order by m.dequeue_at, random()
  ), placed as (
    select j.*, j.is_held and j.hold is null as is_freed,
      case
        when j.is_held and j.hold is not null then null
        when j.seat is not null then j.seat
        when j.is_held or j.first_at <= p_now then nextval('lonnymq.seat_seq')
      end as next_seat
    from judged j
  )
  select array_agg(d.tid), array_agg(row(
    d.channel_id, d.filter_id, null, d.next_seat,
    case when d.next_seat is not null then null when d.is_held then d.hold_until
      else least(d.wake_at, d.first_at) end,
    case when d.is_lower then d.first_at else d.floor_at end,
    case when d.is_lower then d.first_id else d.floor_id end,
    d.is_held and d.next_seat is null
  )::lonnymq.kind_position), bool_or(d.is_freed)
  into v_old, v_new, v_is_freed
  from placed d
  where d.is_lower or d.is_freed or d.next_seat is distinct from d.seat
    or (d.is_held and d.hold_until <> d.wake_at)
    or (d.next_seat is null and not d.is_held and d.first_at < d.wake_at);
  if v_new is not null then
    perform lonnymq.kind_position_move(v_old, v_new);
  end if;
  if v_is_freed then
    perform pg_notify('lonnymq', '');
  end if;
end
$$;

comment on function lonnymq.kind_apply_changes(tid[], bigint) is
'Applies folded changes to the rings of filters.';

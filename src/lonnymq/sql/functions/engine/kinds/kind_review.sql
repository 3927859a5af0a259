-- Looks at channels in the ring of a filter again, for the folder, as channel_advance_floor does in the ring of all: a
-- channel without messages of the kinds leaves the ring, so does one whose first message is due later, or that is held.
-- Floors are moved up to the first message that waits.
create or replace function lonnymq.kind_review(p_walk lonnymq.walk, p_ids bigint[])
returns void
language plpgsql
as $$
#variable_conflict use_column
declare
  v_old tid[];
  v_new lonnymq.kind_position[];
begin
  with looked as materialized (
    select p.*, f.dequeue_at, f.id as message_id, f.dequeue_at > p_walk.now_at as is_later,
      case h.hold when 'throttled' then h.wake_at else 9223372036854775807 end as hold_until,
      h.hold is not null and (h.hold <> 'throttled' or h.wake_at > p_walk.now_at) as is_stopped
    from unnest(p_ids) as i (id)
    cross join lateral (select c.name from lonnymq.channel c where c.id = i.id limit 1) c
    cross join lateral (
      select p.ctid as tid, p.* from lonnymq.kind_position p
      where p.channel_id = i.id and p.filter_id = p_walk.filter_id order by p.version desc limit 1
    ) p
    left join lateral (
      select p.hold, p.wake_at from lonnymq.channel_position p
      where p.channel_id = i.id order by p.version desc limit 1
    ) h on true
    left join lateral lonnymq.kind_first(c.name, p_walk.kinds, p.floor_at, p.floor_id,
      p_walk.now_at) f on true
    where p.seat is not null
  )
  select array_agg(l.tid), array_agg(row(
    l.channel_id, l.filter_id, null, case when not l.is_later and not l.is_stopped then l.seat end,
    case when l.is_later then l.dequeue_at when l.is_stopped then l.hold_until end,
    l.dequeue_at, l.message_id, l.is_stopped and not l.is_later
  )::lonnymq.kind_position) filter (where l.message_id is not null)
  into v_old, v_new
  from looked l
  where l.message_id is null or l.is_later or l.is_stopped
    or (l.dequeue_at, l.message_id) <> (l.floor_at, l.floor_id);
  if v_old is not null then
    perform lonnymq.kind_position_move(v_old, v_new);
  end if;
end
$$;

comment on function lonnymq.kind_review(lonnymq.walk, bigint[]) is
'Takes the seat of channels with nothing due in the ring of a filter, and moves floors up.';

-- Looks at channels of the ring again, under the fold lock: takes the seat of those that have
-- nothing due, and moves floors up to the first message that waits, also of those that have just
-- been held. What another call has leased and not yet committed still shows as waiting here, so a
-- rollback is not lost.
create or replace function lonnymq.channel_advance_floor(p_ids bigint[], p_now bigint)
returns void
language plpgsql
as $$
#variable_conflict use_column
declare
  v_locked bigint[];
  v_old tid[];
  v_new lonnymq.channel_position[];
begin
  select array_agg(l.id) into v_locked
  from (
    select c.id from lonnymq.channel c where c.id = any (p_ids) order by c.id
    for update skip locked
  ) l;

  with looked as materialized (
    select p.*, f.dequeue_at, f.id as message_id,
      (f.dequeue_at, f.id) <= (p.gap_at, p.gap_id) as is_before_gap
    from unnest(v_locked) as l (id)
    cross join lateral (select c.name from lonnymq.channel c where c.id = l.id limit 1) c
    cross join lateral (
      select p.ctid as tid, p.* from lonnymq.channel_position p
      where p.channel_id = l.id order by p.version desc limit 1
    ) p
    left join lateral lonnymq.channel_first(c.name, p.floor_at, p.floor_id, p.gap_at, p.gap_id,
      p.gap_end_at, p.gap_end_id, p_now) f on true
    where p.seat is not null or p.hold in ('saturated', 'throttled')
  )
  select array_agg(l.tid), array_agg(row(
    l.channel_id, l.version + 1, case when l.dequeue_at <= p_now then l.seat end,
    case when l.hold is not null then l.wake_at when l.dequeue_at > p_now then l.dequeue_at end,
    coalesce(l.dequeue_at, 9223372036854775807), coalesce(l.message_id, 0),
    case when l.dequeue_at is null and l.hold is null then p_now end, l.hold,
    case when l.is_before_gap then l.gap_at end, case when l.is_before_gap then l.gap_id end,
    case when l.is_before_gap then l.gap_end_at end, case when l.is_before_gap then l.gap_end_id end
  )::lonnymq.channel_position)
  into v_old, v_new
  from looked l
  where (l.seat is not null and (l.dequeue_at is null or l.dequeue_at > p_now))
    or (coalesce(l.dequeue_at, 9223372036854775807), coalesce(l.message_id, 0))
      <> (l.floor_at, l.floor_id);
  if v_old is not null then
    perform lonnymq.channel_position_move(v_old, v_new);
    update lonnymq.checkpoint t set has_moved = true, made_by = pg_current_xact_id()
    where t.id = (select n.id from lonnymq.checkpoint n order by n.id desc limit 1) and not t.has_moved
      -- One that was restored must not be taken for our own (checkpoint_now).
      and t.xmin = t.made_by::xid;
  end if;
end
$$;

comment on function lonnymq.channel_advance_floor(bigint[], bigint) is
'Takes the seat of channels that have nothing due, and moves floors up.';

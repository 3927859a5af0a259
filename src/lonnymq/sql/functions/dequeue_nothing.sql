-- The one row that a dequeue answers when it leased nothing: why, and when to look again: when a
-- channel's time comes or a lease runs out, and soon where the ring is not empty (another call is
-- taking what is there, and may not keep it). dequeued_at is the database's time, to reckon from.
create or replace function lonnymq.dequeue_nothing(
  p_is_contended boolean, p_now bigint, p_is_ring boolean, p_cursor bigint[]
)
returns table (
  answer text, id bigint, token uuid, channel text, content bytea, state bytea, attempt integer,
  kind text, headers jsonb, name text, created_at bigint, dequeue_at bigint, dequeued_at bigint,
  lease_until bigint, look_at bigint, cursor bigint[]
)
language sql
stable
as $$
  select case when p_is_contended then 'contended' else 'empty' end,
    null::bigint, null::uuid, null::text, null::bytea, null::bytea, null::integer, null::text,
    null::jsonb, null::text, null::bigint, null::bigint, p_now, null::bigint,
    case when p_is_contended then p_now else least(
      (select p.wake_at from lonnymq.place p
        where p.wake_at > p_now order by p.wake_at limit 1),
      (select l.due_at from lonnymq.lease l
        where l.due_at > p_now order by l.due_at limit 1),
      case when p_is_ring then p_now + 20 end
    ) end,
    p_cursor
$$;

comment on function lonnymq.dequeue_nothing(boolean, bigint, boolean, bigint[]) is
'The one row that a dequeue answers when it leased nothing.';

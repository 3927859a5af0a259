-- The one row that a dequeue answers when it leased nothing: why, and when to look again: when a
-- channel's time comes or a lease runs out; soon where the ring is not empty, for another call is
-- taking what is there and may not keep it; and soon as long as somebody may have left a message
-- without telling, because the channel was still seated, or another note was still to be folded or was
-- a moment ago (queue_tell). That may be as long as a transaction runs that began before this call
-- changed anything, or within that moment: so a call that has written, or comes in that moment, is
-- followed by another one shortly, and the cursor then keeps below which transaction all must have ended. dequeued_at is the database's time, to reckon from.
create or replace function lonnymq.dequeue_nothing(
  p_is_contended boolean, p_now bigint, p_is_ring boolean, p_cursor bigint[], p_until bigint
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
      case when p_is_ring then p_now + 20 end,
      case when s.is_early then p_now + 6 end,
      case when pg_snapshot_xmin(s.snapshot)::text::bigint < u.until
        then p_now + case when p_until is null then 5 else 50 end end
    ) end,
    case when u.until is null then p_cursor else p_cursor || u.until end
  from (
    select pg_current_snapshot() as snapshot,
      pg_current_xact_id_if_assigned() is not null or coalesce(
        (select t.told_at from lonnymq.tick t order by t.id desc limit 1)
          > clock_timestamp() - interval '5 milliseconds', false) as is_early
  ) s
  cross join lateral (
    select case when not s.is_early
      then coalesce(p_until, pg_snapshot_xmax(s.snapshot)::text::bigint) end as until
  ) u
$$;

comment on function lonnymq.dequeue_nothing(boolean, bigint, boolean, bigint[], bigint) is
'The one row that a dequeue answers when it leased nothing.';

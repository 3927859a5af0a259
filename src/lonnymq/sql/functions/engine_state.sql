-- How the engine stands, in one look: the newest tick, the queue's own limit, the last seat, and whether
-- something is to be folded: notes of messages, slots or settings (is_told), or else (is_late) leases or
-- channels whose time has come. Notes of leases, and of messages that a dequeue finds without them, can
-- wait for 20 ms; not those of transactions that ran when the last tick was written, and none if a
-- channel has moved since: then whoever left the note may have seen the channel where it was.
-- Written into the query that calls it: it costs no call.
create or replace function lonnymq.engine_state(p_now bigint)
returns table (
  tick_id bigint, until xid8, again xid8[], has_moved boolean, seat_floor bigint, seat_last bigint,
  has_limit boolean, is_told boolean, is_late boolean
)
language sql
stable
as $$
  select t.id, t.until, t.again, t.has_moved, t.seat_floor, s.last_value, q.max_concurrency is not null,
    exists (select from lonnymq.note n where not n.quiet and n.xid >= t.until),
    exists (
      select from lonnymq.note n
      where n.quiet = any ('{false,true}') and n.xid = any (t.again) and n.message_ids is null
    ) or (t.has_moved and exists (
      select from lonnymq.note n where n.quiet and n.xid >= t.until and n.message_ids is null
    )) or exists (
      select from lonnymq.lease l where l.due_at > t.lease_mark and l.due_at <= p_now
    ) or exists (
      select from lonnymq.place p where p.wake_at > t.wake_mark and p.wake_at <= p_now
    ) or exists (
      select from lonnymq.lease l where l.is_settling and l.due_at > 0
    ) or exists (
      select from lonnymq.uncounted u where u.channel_id >= 0
    ) or p_now < t.lease_mark or p_now < t.wake_mark or (
      (p_now between t.folded_at and t.folded_at + 20) is not true and (exists (
        select from lonnymq.note n where n.quiet and n.xid >= t.until
      ) or exists (
        select from lonnymq.note n where n.quiet and n.xid = any (t.again)
      ))
    )
  from lonnymq.tick_now() t
  cross join lonnymq.queue q
  cross join lonnymq.seat_seq s
  where q.only_row
$$;

comment on function lonnymq.engine_state(bigint) is
'How the engine stands: the newest tick, the last seat, and whether something is to be folded.';

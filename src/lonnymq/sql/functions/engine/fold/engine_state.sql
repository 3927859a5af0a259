-- The state of the engine in a single query: the newest checkpoint, the limit of the queue, the last
-- seat, and whether something must be folded: changes of messages, slots or settings (is_told), or else
-- leases or channels whose time has come (is_late). Changes of leases, and changes of messages that a
-- dequeue finds anyway, can wait for 20 ms. Changes of transactions that ran when the last checkpoint
-- was written cannot wait. No change can wait if a channel has moved since: the author of the change may
-- have seen the old position. PostgreSQL inlines this function into the calling query.
create or replace function lonnymq.engine_state(p_now bigint)
returns table (
  checkpoint_id bigint, until_xid xid8, running_xids xid8[], has_moved boolean,
  seat_floor bigint, seat_last bigint, has_limit boolean, has_changes boolean, is_late boolean
)
language sql
stable
as $$
  select t.id, t.until_xid, t.running_xids, t.has_moved, t.seat_floor, s.last_value, q.max_concurrency is not null,
    exists (select from lonnymq.change n where not n.can_wait and n.xid >= t.until_xid),
    exists (
      select from lonnymq.change n
      where n.can_wait = any ('{false,true}') and n.xid = any (t.running_xids) and n.message_ids is null
    ) or (t.has_moved and exists (
      select from lonnymq.change n where n.can_wait and n.xid >= t.until_xid and n.message_ids is null
    )) or exists (
      select from lonnymq.lease l where l.due_at > t.lease_mark and l.due_at <= p_now
    ) or exists (
      select from lonnymq.channel_position p where p.wake_at > t.wake_mark and p.wake_at <= p_now
    ) or exists (
      select from lonnymq.message m where m.expires_at > t.wake_mark and m.expires_at <= p_now
    ) or exists (
      select from lonnymq.lease l where l.is_settling and l.due_at > 0
    ) or exists (
      select from lonnymq.early_lease u where u.channel_id >= 0
    ) or p_now < t.lease_mark or p_now < t.wake_mark or (
      (p_now between t.folded_at and t.folded_at + 20) is not true and (exists (
        select from lonnymq.change n where n.can_wait and n.xid >= t.until_xid
      ) or exists (
        select from lonnymq.change n where n.can_wait and n.xid = any (t.running_xids)
      ))
    )
  from lonnymq.checkpoint_now() t
  cross join lonnymq.queue q
  cross join lonnymq.seat_seq s
  where q.only_row
$$;

comment on function lonnymq.engine_state(bigint) is
'The state of the engine: the newest checkpoint, the last seat, and whether to fold.';

-- The latest leases: the messages of p_dequeues dequeues or more, the last to run out first, and of those
-- that are not folded yet. Some have ended.
create or replace function lonnymq.lease_latest(p_dequeues integer)
returns table (message_ids bigint[])
language sql
stable
as $$
  (
    select n.message_ids from lonnymq.checkpoint_now() t
    cross join lateral (
      select n.message_ids from lonnymq.change n
      where n.can_wait = any ('{false,true}') and n.xid >= t.until_xid and n.message_ids is not null
      union all
      select n.message_ids from lonnymq.change n
      where n.can_wait = any ('{false,true}') and n.xid = any (t.running_xids) and n.xid < t.until_xid
        and n.message_ids is not null
    ) n
    limit p_dequeues
  )
  union all
  (select l.message_ids from lonnymq.lease l order by l.due_at desc limit p_dequeues)
$$;

comment on function lonnymq.lease_latest(integer) is
'The latest leases, and some that have ended.';

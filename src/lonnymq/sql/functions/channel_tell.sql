-- Notifies those who wait that this transaction has put a message into a channel, where nobody would
-- look at it in time otherwise: the channel has nothing due and nothing earlier to wait for.
-- Where another transaction's note that was told of waits to be folded, that is enough: who folds it
-- goes on to look until every transaction that ran at the time has ended (dequeue_nothing). The
-- caller has written something before it asks, so that its transaction is one of them.
--
-- Answers: whether those who wait are told, for the note that the caller is about to leave.
-- Notifies: yes, where it has to. A notification is one lock for all commits of the database
--   cluster, so a thousand creates must not be a thousand of them.
create or replace function lonnymq.channel_tell(p_channel text, p_due_at bigint)
returns boolean
language plpgsql
as $$
declare
  v_tick lonnymq.tick;
begin
  perform
  from lonnymq.channel c
  cross join lateral (
    select * from lonnymq.place p where p.channel_id = c.id order by p.version desc limit 1
  ) p
  where c.name = p_channel
    and (p.seat is not null or p.hold is not null or p.wake_at <= p_due_at);
  if found then
    return false;
  end if;
  select * into v_tick from lonnymq.tick t order by t.id desc limit 1;
  perform from lonnymq.note n
  where n.told and n.xid >= coalesce(v_tick.until, '0') and n.xid <> pg_current_xact_id()
  limit 1;
  if not found then
    perform pg_notify('lonnymq', '');
  end if;
  return true;
end
$$;

comment on function lonnymq.channel_tell(text, bigint) is
'Notifies those who wait that a message was put into a channel, where it has to.';

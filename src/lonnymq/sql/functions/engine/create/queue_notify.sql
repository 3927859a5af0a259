-- Tells those who wait for messages that this transaction has put one where nobody would look in time.
-- Not where another transaction's change that was told of waits to be folded: who folds it goes on to look
-- until every transaction that ran at the time has ended (walk_nothing). The caller has written
-- something before it asks, so that its transaction is one of them. And not within 4 ms after such a change
-- was folded: whoever that notification woke and who found nothing looks once more after that time.
-- Each of these holds until this transaction ends, so it is found out once: a change of its own that was
-- told of says that it was.
--
-- Answers: true, always: an assignment of it runs at once, where a perform would be a query of its own.
-- Notifies: where it has to. A notification is one lock for all commits of the database cluster, held
--   until the commit is on disk: a thousand creates must not be a thousand of them.
create or replace function lonnymq.queue_notify()
returns boolean
language plpgsql
as $$
declare
  v_until xid8;
  v_told_at timestamptz;
begin
  -- Under serializable a look at the changes of others would be a conflict with every one of them.
  if current_setting('transaction_isolation') = 'serializable' then
    perform pg_notify('lonnymq', '');
    return true;
  end if;
  select t.until_xid, t.notified_at into v_until, v_told_at from lonnymq.checkpoint_now() t;
  if v_told_at > clock_timestamp() - interval '4 milliseconds' then
    return true;
  end if;
  if not (exists (
    select from lonnymq.change n
    where not n.can_wait and n.xid = pg_current_xact_id() and n.notified
  ) or exists (
    select from lonnymq.change n
    where not n.can_wait and n.xid >= coalesce(v_until, '0') and n.notified
      and n.xid <> pg_current_xact_id()
  )) then
    perform pg_notify('lonnymq', '');
  end if;
  return true;
end
$$;

comment on function lonnymq.queue_notify() is
'Notifies those who wait for messages, where it has to.';

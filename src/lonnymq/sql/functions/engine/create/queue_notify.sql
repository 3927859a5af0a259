-- Notifies waiting consumers of a message in a channel that no consumer would read in time. No
--   notification is needed if a notified change of another transaction waits to be folded: the consumer
--   that folds the change tries again until every transaction of that time has ended (walk_nothing). The
--   caller has already written data, so its transaction is among these transactions. No notification is
--   needed within 4 ms after such a change was folded either: a consumer that the notification woke and
--   that found nothing tries once more after that time. Both stay true until this transaction ends, so
--   they are checked once: a notified change of this transaction proves that the check was done.
--
-- Answers: true, always: an assignment runs at once, and a perform would be a query.
-- Notifies: if needed. A notification takes a lock that all commits of the database cluster share, until
--   the commit is on disk: a thousand creates must not send a thousand notifications.
create or replace function lonnymq.queue_notify()
returns boolean
language plpgsql
as $$
declare
  v_until xid8;
  v_told_at timestamptz;
begin
  -- An older snapshot shows what was folded long ago. And under serializable a look at the changes of others
  -- would be a conflict with every one of them.
  if lonnymq.snapshot_is_fixed() then
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
'Notifies waiting consumers, if needed.';

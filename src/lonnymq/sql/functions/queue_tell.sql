-- Tells those who wait for messages that this transaction has put one where nobody would look in time.
-- Where another transaction's note that was told of waits to be folded, that is enough: who folds it
-- goes on to look until every transaction that ran at the time has ended (dequeue_nothing). The
-- caller has written something before it asks, so that its transaction is one of them.
--
-- Answers: true, always: an assignment of it runs at once, where a perform would be a query of its own.
-- Notifies: where it has to. A notification is one lock for all commits of the database cluster, so a
--   thousand creates must not be a thousand of them.
create or replace function lonnymq.queue_tell()
returns boolean
language plpgsql
as $$
begin
  if not exists (
    select from lonnymq.note n
    where n.told and n.xid <> pg_current_xact_id() and n.xid >= coalesce(
      (select t.until from lonnymq.tick t order by t.id desc limit 1), '0')
  ) then
    perform pg_notify('lonnymq', '');
  end if;
  return true;
end
$$;

comment on function lonnymq.queue_tell() is
'Notifies those who wait for messages, where it has to.';

-- Whether a first limit or capacity cannot be counted yet, because a dequeue that began before the
-- commit of the limit is still running and may still lease messages. The first call stores the running
-- dequeues, which end within milliseconds. For a capacity, the id of the channel is negative. Channel 0
-- is the queue.
create or replace function lonnymq.limit_must_wait(p_channel_id bigint, p_epoch bigint)
returns boolean
language plpgsql
as $$
declare
  v_running text[];
  v_known text[];
begin
  v_running := array(
    select l.virtualtransaction from pg_locks l
    where l.locktype = 'advisory' and l.classid = 'lonnymq.queue'::regclass::oid and l.objid = 5
      and l.objsubid = 2 and l.pid <> pg_backend_pid()
      and l.database = (select d.oid from pg_database d where d.datname = current_database())
  );
  select w.dequeues into v_known from lonnymq.limit_wait w
  where w.channel_id = p_channel_id and w.epoch = p_epoch;
  if coalesce(v_known, v_running) && v_running then
    insert into lonnymq.limit_wait (channel_id, epoch, dequeues)
    values (p_channel_id, p_epoch, v_running)
    on conflict (channel_id) do update set epoch = excluded.epoch, dequeues = excluded.dequeues
    where limit_wait.epoch <> excluded.epoch;
    return true;
  end if;
  delete from lonnymq.limit_wait w where w.channel_id = p_channel_id;
  return false;
end
$$;

comment on function lonnymq.limit_must_wait(bigint, bigint) is
'Whether a first limit cannot be counted yet, because of dequeues that may not know the limit.';

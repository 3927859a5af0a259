-- The channels of these whose first limit or capacity cannot be counted yet, because a dequeue that began
-- before the commit of the limit is still running and may still lease messages. The first call stores the
-- running dequeues, which end within milliseconds. For a capacity, the id of the channel is negative.
-- Channel 0 is the queue.
create or replace function lonnymq.limit_must_wait(p_channel_ids bigint[], p_epochs bigint[])
returns bigint[]
language plpgsql
as $$
declare
  v_running text[];
  v_waiting bigint[];
begin
  v_running := array(
    select l.virtualtransaction from pg_locks l
    where l.locktype = 'advisory' and l.classid = 'lonnymq.queue'::regclass::oid and l.objid = 5
      and l.objsubid = 2 and l.pid <> pg_backend_pid()
      and l.database = (select d.oid from pg_database d where d.datname = current_database())
  );
  v_waiting := array(
    select i.id
    from unnest(p_channel_ids, p_epochs) as i (id, epoch)
    left join lateral (
      select w.dequeues from lonnymq.limit_wait w
      where w.channel_id = i.id and w.epoch = i.epoch limit 1
    ) w on true
    where coalesce(w.dequeues, v_running) && v_running
  );
  insert into lonnymq.limit_wait (channel_id, epoch, dequeues)
  select i.id, i.epoch, v_running
  from unnest(p_channel_ids, p_epochs) as i (id, epoch)
  where i.id = any (v_waiting)
  on conflict (channel_id) do update set epoch = excluded.epoch, dequeues = excluded.dequeues
  where limit_wait.epoch <> excluded.epoch;
  delete from lonnymq.limit_wait w
  where w.channel_id = any (p_channel_ids) and w.channel_id <> all (v_waiting);
  return v_waiting;
end
$$;

comment on function lonnymq.limit_must_wait(bigint[], bigint[]) is
'The channels whose first limit cannot be counted yet, because a dequeue may not know the limit.';

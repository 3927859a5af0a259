-- Begins to count in channels that were given a limit where there was none; the caller holds their rows
-- and the fold lock. Channel 0 is the queue.
--
-- Leases that were taken without being counted count from now on, until they end (uncounted). A dequeue
-- that began before the limit was committed may not know of it and still take some: those that run at
-- this moment are written down, and counting begins when they have ended. It is a matter of
-- milliseconds, and nothing is given out meanwhile.
-- Answers: whether counting has begun in any of them.
create or replace function lonnymq.limit_begin(p_channel_ids bigint[])
returns boolean
language plpgsql
as $$
declare
  v_running text[];
  v_waiting text[];
  v_channel record;
  v_found bigint;
  v_has_begun boolean := false;
begin
  v_running := array(
    select l.virtualtransaction from pg_locks l
    where l.locktype = 'advisory' and l.classid = 'lonnymq.queue'::regclass::oid and l.objid = 2
      and l.objsubid = 2 and l.pid <> pg_backend_pid()
      and l.database = (select d.oid from pg_database d where d.datname = current_database())
  );
  for v_channel in
    select i.id, coalesce(l.epoch, q.limit_epoch) as epoch, l.name
    from unnest(p_channel_ids) as i (id)
    cross join lonnymq.queue q
    left join lateral lonnymq.channel_limit(i.id) l on true
    where q.only_row
  loop
    select w.dequeues into v_waiting from lonnymq.limit_wait w
    where w.channel_id = v_channel.id and w.epoch = v_channel.epoch;
    if not found then
      v_waiting := v_running;
    end if;
    if v_waiting && v_running then
      insert into lonnymq.limit_wait (channel_id, epoch, dequeues)
      values (v_channel.id, v_channel.epoch, v_waiting)
      on conflict (channel_id) do update
      set epoch = excluded.epoch, dequeues = excluded.dequeues
      where limit_wait.epoch <> excluded.epoch;
      continue;
    end if;
    delete from lonnymq.limit_wait w where w.channel_id = v_channel.id;
    v_found := lonnymq.limit_collect(v_channel.id, v_channel.name);
    perform lonnymq.meter_add(v_channel.id, v_found, 0, v_channel.epoch);
    v_has_begun := true;
  end loop;
  return v_has_begun;
end
$$;

comment on function lonnymq.limit_begin(bigint[]) is
'Begins to count in channels that were given a limit where there was none.';

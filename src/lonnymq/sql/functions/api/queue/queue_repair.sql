-- Repairs the problems that `queue_check` finds. The function counts the messages and leases again and
-- rereads all changes. The function waits for running maintenance, dequeues and settlements.
--
-- Answers: a row per problem that was found. No row means that the queue was sound.
create or replace function lonnymq.queue_repair()
returns table (invariant text, channel text, detail text)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_found record;
  v_now bigint := lonnymq.epoch();
  v_id bigint;
begin
  perform lonnymq.guard_own_transaction('queue_repair');
  perform pg_advisory_xact_lock('lonnymq.queue'::regclass::oid::integer, 1);
  perform from lonnymq.channel c order by c.name for update;
  delete from lonnymq.channel_position p
  where exists (select from lonnymq.channel_position n where n.channel_id = p.channel_id and n.version > p.version);
  delete from lonnymq.channel_counter m
  where exists (select from lonnymq.channel_counter n where n.channel_id = m.channel_id and n.version > m.version);
  insert into lonnymq.channel_position (channel_id, version, floor_at, floor_id)
  select c.id, 1, -9223372036854775808, 0 from lonnymq.channel c
  where not exists (select from lonnymq.channel_position p where p.channel_id = c.id);

  -- What a lease says of itself comes first: the counts are counted from it.
  for v_pass in 1 .. 2 loop
    for v_found in
      select c.invariant, c.channel, c.message_id, c.detail from lonnymq.queue_check() c
      where (c.invariant = 'lease_consistent') = (v_pass = 1)
    loop
      select c.id into v_id from lonnymq.channel c where c.name = v_found.channel;
      case v_found.invariant
        when 'in_flight' then
          perform lonnymq.channel_counter_add(v_id, lonnymq.channel_counter_drift(v_id, v_found.channel), 0);
          insert into lonnymq.change (channel, rescan) values (v_found.channel, true);
        when 'queue_in_flight' then
          perform lonnymq.channel_counter_add(0, lonnymq.channel_counter_drift(0, null), 0);
          update lonnymq.channel_counter m set tat = 0 where m.channel_id = 0;  -- to be split again
        when 'size' then
          update lonnymq.channel c set recount_after = '0' where c.name = v_found.channel;
          insert into lonnymq.change (channel, rescan) values (v_found.channel, true);
        when 'change_read', 'wakes_in_time' then
          null;  -- all changes and all moments are looked at again below
        when 'one_position', 'reachable' then
          insert into lonnymq.change (channel, rescan) values (v_found.channel, true);
        when 'lease_consistent' then
          update lonnymq.message m
          set lease_until = case when m.token is not null then coalesce(m.lease_until, v_now) end,
            dequeued_at = case when m.token is not null then coalesce(m.dequeued_at, v_now) end,
            slot = case when m.token is not null then m.slot else 0 end,
            attempt = case when m.token is not null then greatest(m.attempt, 1) else m.attempt end
          where m.id = v_found.message_id;
          insert into lonnymq.lease (due_at, message_ids) values (v_now, array[v_found.message_id]);
          insert into lonnymq.change (channel, rescan) values (v_found.channel, true);
        when 'lease_checked', 'lease_overdue' then
          insert into lonnymq.lease (due_at, message_ids) values (v_now, array[v_found.message_id]);
        when 'attempts' then
          update lonnymq.channel c
          set most_attempts = greatest(c.most_attempts,
            (select max(m.attempt) from lonnymq.message m where m.channel = v_found.channel))
          where c.name = v_found.channel;
          update lonnymq.message m set attempt = 0 where m.id = v_found.message_id and m.attempt < 0;
        when 'dead_not_live' then
          delete from lonnymq.dead d where d.id = v_found.message_id;
        else
          null;
      end case;
      return query select v_found.invariant, v_found.channel, v_found.detail;
    end loop;
  end loop;
  delete from lonnymq.checkpoint;
  insert into lonnymq.checkpoint (until_xid, running_xids, seat_floor, notified_at) values ('0', '{}', 0, '-infinity');
  loop
    exit when (select f.answer from lonnymq.fold_run(v_now) f) not in ('changes', 'late');
  end loop;
end
$$;

comment on function lonnymq.queue_repair() is
'Repairs the problems that queue_check finds.';

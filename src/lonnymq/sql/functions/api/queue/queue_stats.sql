-- Shows the present state of the queue. `waiting` counts the messages that are not leased, including
-- scheduled messages. Above 100,000 messages or channels, the numbers are estimates of the query
-- planner, the latest 100,000 leases are read, and `estimated` is true.
create or replace function lonnymq.queue_stats(
  out channels bigint,
  out ready bigint,
  out waiting bigint,
  out leased bigint,
  out dead bigint,
  out notes bigint,
  out in_flight bigint,
  out max_concurrency integer,
  out history text,
  out history_keep_ms bigint,
  out oldest_ready_at bigint,
  out next_at bigint,
  out now_at bigint,
  out estimated boolean
)
language plpgsql
stable
as $$
#variable_conflict use_column
declare
  v_messages bigint;
begin
  now_at := lonnymq.epoch();
  select q.max_concurrency, q.history, q.history_keep_ms
  into max_concurrency, history, history_keep_ms
  from lonnymq.queue q where q.only_row;

  v_messages := lonnymq.table_count('lonnymq.message');
  channels := lonnymq.table_count('lonnymq.channel');
  dead := lonnymq.table_count('lonnymq.dead');
  notes := lonnymq.table_count('lonnymq.change');
  -- The latest leases first: those that ended long ago are watched until they would have run out.
  select count(distinct m.id), count(*) >= 100000 into leased, estimated
  from (
    select i.id
    from lonnymq.lease_latest(100000) l
    cross join unnest(l.message_ids) as i (id)
    limit 100000
  ) i
  left join lonnymq.message m on m.id = i.id and m.token is not null;
  waiting := greatest(v_messages - leased, 0);
  estimated := estimated or greatest(v_messages, channels, dead, notes) > 100000;

  select count(*) into ready
  from (select from lonnymq.channel_position p where p.seat is not null limit 100000) p;
  select min(f.due_at) into oldest_ready_at
  from (select * from lonnymq.channel_position p where p.seat is not null order by p.seat limit 1000) p
  cross join lateral (select c.name from lonnymq.channel c where c.id = p.channel_id limit 1) c
  cross join lateral lonnymq.channel_first(c.name, p.floor_at, p.floor_id, p.gap_at, p.gap_id,
    p.gap_end_at, p.gap_end_id, null) f;
  select p.wake_at into next_at from lonnymq.channel_position p
  where p.wake_at is not null order by p.wake_at limit 1;
  in_flight := coalesce(lonnymq.queue_in_flight(), leased);
end
$$;

comment on function lonnymq.queue_stats() is
'Shows the present state of the queue.';

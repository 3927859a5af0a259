-- Shows the metrics of the queue. The cost is the same for any number of messages and channels. Large
-- numbers are estimates, and columns such as `is_exact` tell which.
--
-- - `waiting`: messages that are not leased, including scheduled messages. `waiting`, `dead` and
--   `channels` are counted if the table has up to `p_pages` pages or up to 10,000 rows. `channels` includes new
--   channels of the first 1,000 changes that are not folded yet
-- - `running`: leased messages. Counted if `waiting` is, or if the queue has a limit. Otherwise estimated from 500 messages
--   of the latest 500 dequeues, and at least the number that the workers report
-- - `ready`: channels with messages due, counted up to 500
-- - `oldest_at`: the time since when the oldest first message of a channel has been due. Read from 300
--   channels each with messages due, at a limit or at a rate limit, 100 that become due next, 100 with
--   leases, and 100 new channels
-- - `last_id`: the last message id. The difference of two calls is the number of messages created
--   between the calls
create or replace function lonnymq.queue_metrics(
  p_pages integer default 300,
  out now_at bigint, out waiting bigint, out waiting_is_exact boolean, out running bigint,
  out running_is_exact boolean, out dead bigint, out dead_is_exact boolean, out channels bigint,
  out channels_is_exact boolean, out ready bigint, out ready_is_exact boolean,
  out oldest_at bigint, out oldest_is_exact boolean, out next_at bigint, out last_id bigint,
  out in_flight bigint, out max_concurrency integer, out history text, out workers integer
)
language plpgsql
stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_ids bigint[];
  v_channels text[];
  v_said bigint;
  v_step integer;
  v_leased bigint;
begin
  now_at := lonnymq.epoch();
  select q.max_concurrency, q.history into max_concurrency, history
  from lonnymq.queue q where q.only_row;
  last_id := coalesce(pg_sequence_last_value('lonnymq.message_id_seq'), 0);
  select count(*), coalesce(sum(w.running), 0) into workers, v_said
  from (select * from lonnymq.worker w order by w.name limit 10000) w
  where w.seen_at + 3 * w.interval_ms >= now_at;

  v_ids := array(
    select i.id from lonnymq.lease_latest(500) l cross join unnest(l.message_ids) as i (id) limit 50000
  );
  v_step := greatest((cardinality(v_ids) + 499) / 500, 1);
  select cardinality(v_ids) < 500 and count(*) < 500 into running_is_exact from lonnymq.lease_latest(500) l;
  select count(distinct m.id), (array_agg(distinct m.channel))[1:100] into running, v_channels
  from unnest(v_ids) with ordinality as i (id, place)
  cross join lateral (select m.id, m.channel from lonnymq.message m where m.id = i.id and m.token is not null limit 1) m
  where i.place % v_step = 0;
  in_flight := case when max_concurrency is not null then lonnymq.queue_in_flight() end;
  select f.leased into v_leased from lonnymq.message_metric(p_pages) f where f.is_exact;
  if v_leased is not null then
    running := v_leased;
    running_is_exact := true;
  elsif not running_is_exact then
    running := coalesce(in_flight, greatest(running * v_step, v_said));
  end if;
  in_flight := coalesce(in_flight, running);

  select greatest(f.value - running, 0), f.is_exact and running_is_exact
  into waiting, waiting_is_exact
  from lonnymq.message_metric(p_pages) f;
  select f.value, f.is_exact into channels, channels_is_exact
  from lonnymq.table_metric('lonnymq.channel', p_pages) f;
  select channels + count(*), channels_is_exact and coalesce(max(f.changes), 0) < 1000
  into channels, channels_is_exact
  from (
    select f.channel, sum(count(*)) over () as changes
    from lonnymq.change_unfolded(1000) f group by f.channel
  ) f
  where f.channel <> '' -- a change of leases has no channel
    and not exists (select from lonnymq.channel c where c.name = f.channel);
  select f.value, f.is_exact into dead, dead_is_exact
  from lonnymq.table_metric('lonnymq.dead', p_pages) f;

  select count(*) into ready
  from (select from lonnymq.channel_position p where p.seat is not null limit 500) p;
  ready_is_exact := ready < 500;
  select min(greatest(f.dequeue_at, f.created_at)) into oldest_at
  from (
    select c.name
    from (
      (select p.channel_id from lonnymq.channel_position p
        where p.seat is not null order by p.seat limit 300)
      union
      (select p.channel_id from lonnymq.channel_position p
        where p.wake_at is not null order by p.wake_at limit 100)
      union
      (select p.channel_id from lonnymq.channel_position p
        where p.hold = 'saturated' order by p.hold, p.channel_id limit 300)
      union
      (select p.channel_id from lonnymq.channel_position p
        where p.hold = 'throttled' order by p.hold, p.channel_id limit 300)
    ) p
    cross join lateral (select c.name from lonnymq.channel c where c.id = p.channel_id limit 1) c
    union
    select n.name from unnest(v_channels) as n (name)
    union
    (select distinct f.channel from lonnymq.change_unfolded(500) f limit 100)
  ) n
  cross join lateral lonnymq.message_first(n.name) f
  where f.dequeue_at <= now_at;
  oldest_is_exact := ready <= 300 and running_is_exact;
  select p.wake_at into next_at from lonnymq.channel_position p
  where p.wake_at is not null order by p.wake_at limit 1;
end
$$;

comment on function lonnymq.queue_metrics(integer) is
'Shows the metrics of the queue, at the same cost for any size of the queue.';

-- Ranks channels by a number. The cost is the same for any number of channels, because the function
-- reads samples. The first channels of the ranking are right or nearly right.
--
-- - `waiting`: messages, counted if the queue has up to 300 pages of messages. Otherwise estimated from 300
--   pages, other pages every minute, and from the statistics of the server. Channels that are paused,
--   saturated or throttled are counted
-- - `running`: leases, from the latest 2,000 leases
-- - `oldest`: how long the first message has been waiting, in ms. Read from the 1,000 channels that have
--   had messages due for longest, from channels that are saturated, throttled or paused, with leases, or
--   with many messages
-- - `rate`: completed messages, from the latest 5,000 attempts
-- - `failing`: attempts that failed in the last 5 to 10 minutes, up to the latest sample
-- - `dead`: dead messages, from the newest 10,000
create or replace function lonnymq.channel_rank(p_by text, p_limit integer default 1000)
returns table (channel text, figure bigint)
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
  v_now bigint := lonnymq.epoch();
  v_percent real;
begin
  perform lonnymq.guard_range('limit', p_limit, 1, 1000);
  v_percent := least(100, 100 * 300 / greatest(
    pg_relation_size('lonnymq.message') / current_setting('block_size')::real, 1));
  if p_by = 'waiting' then
    return query
    select w.channel, w.figure from lonnymq.channel_backlog(v_percent, v_now) w
    order by w.figure desc, w.channel limit p_limit;
  elsif p_by = 'running' then
    return query
    select m.channel, count(distinct m.id)
    from (
      select i.id
      from lonnymq.lease_latest(2000) l
      cross join unnest(l.message_ids) as i (id)
      limit 2000
    ) i
    cross join lateral (
      select m.id, m.channel from lonnymq.message m
      where m.id = i.id and m.token is not null limit 1
    ) m
    group by m.channel order by 2 desc, m.channel limit p_limit;
  elsif p_by = 'rate' then
    return query
    select e.channel, count(*)
    from (
      select h.channel, h.outcome from lonnymq.history h order by h.xid desc limit 5000
    ) e
    where e.outcome = 'completed'
    group by e.channel order by 2 desc, e.channel limit p_limit;
  elsif p_by = 'failing' then
    return query
    select f.channel, f.failed from lonnymq.channel_failing(v_now) f
    order by f.failed desc, f.channel limit p_limit;
  elsif p_by = 'dead' then
    return query
    select e.channel, count(*)
    from (select d.channel from lonnymq.dead d order by d.id desc limit 10000) e
    group by e.channel order by 2 desc, e.channel limit p_limit;
  elsif p_by = 'oldest' then
    return query
    select n.channel, v_now - greatest(f.dequeue_at, f.created_at, 0)
    from (
      (select i.channel from lonnymq.channel_in_state('ready', 1000) i)
      union
      (select i.channel from lonnymq.channel_in_state('saturated', 1000) i)
      union
      (select i.channel from lonnymq.channel_in_state('throttled', 1000) i)
      union
      (select i.channel from lonnymq.channel_in_state('paused', 1000) i)
      union
      (select r.channel from lonnymq.channel_rank('running', 200) r)
      union
      (select r.channel from lonnymq.channel_rank('waiting', 200) r)
    ) n
    cross join lateral lonnymq.message_first(n.channel) f
    where f.dequeue_at <= v_now
    order by 2 desc, n.channel limit p_limit;
  else
    raise exception using errcode = 'LM001',
      message = format('there is no ranking by %s', quote_nullable(left(p_by, 100))),
      hint = 'Rankings: waiting, running, oldest, rate, failing, dead.';
  end if;
end
$$;

comment on function lonnymq.channel_rank(text, integer) is
'Ranks channels by a number, at the same cost for any number of channels.';

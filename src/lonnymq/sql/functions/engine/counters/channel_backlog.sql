-- The channels with the most messages that wait, from p_percent of the pages: other pages every minute, the same within
-- a minute, so that a list does not change its order all the time. Of channels that are held, messages are counted: up to
-- 30,000 in all. Where the sample is not the whole table, the most common channels of the server's statistics are added.
create or replace function lonnymq.channel_backlog(p_percent real, p_now bigint)
returns table (channel text, figure bigint)
language sql
stable
as $$
  with held as materialized (
    select s.channel
    from unnest('{paused,saturated,throttled}'::text[]) as h (state)
    cross join lateral lonnymq.channel_in_state(h.state, 500) s
    where p_percent < 100
  ), common as (
    select v.channel, v.share
    from pg_class t
    join pg_namespace n on n.oid = t.relnamespace
    join pg_stats s on s.schemaname = n.nspname and s.tablename = t.relname and s.attname = 'channel'
    cross join lateral unnest(s.most_common_vals::text::text[], s.most_common_freqs) as v (channel, share)
    where t.oid = 'lonnymq.message'::regclass and p_percent < 100
  )
  select b.channel collate "C", coalesce(max(b.counted), max(b.figure))::bigint
  from (
    select m.channel, count(*) * 100 / p_percent as figure, null::bigint as counted
    from lonnymq.message m tablesample system (p_percent) repeatable (p_now / 60000)
    where m.token is null
    group by m.channel
    union all
    select h.channel, l.waiting + l.scheduled,
      case when l.waiting + l.scheduled + l.leased < k.most then l.waiting + l.scheduled end
    from (select (30000 / greatest(count(*), 3))::integer as most from held) k
    cross join held h
    cross join lateral lonnymq.channel_counts(h.channel, k.most, p_now) l
    union all
    select c.channel, c.share * pg_stat_get_live_tuples('lonnymq.message'::regclass), null
    from common c
  ) b
  group by b.channel
$$;

comment on function lonnymq.channel_backlog(real, bigint) is
'The channels with the most messages that wait, estimated.';

-- The channels with an attempt that failed in the last 5 to 10 minutes, up to 10,000, the latest failures first.
create or replace function lonnymq.channel_failing(p_now bigint)
returns table (channel text, completed bigint, failed bigint, died bigint)
language sql
stable
as $$
  select t.channel, r.completed, r.failed, r.died
  from (
    select t.channel from lonnymq.channel_total t
    where t.failed_at >= p_now / 300000 * 300000 - 300000 and t.channel <> ''
    order by t.failed_at desc limit 10000
  ) t
  cross join lateral lonnymq.channel_recent(t.channel, p_now) r
  where r.failed > 0
$$;

comment on function lonnymq.channel_failing(bigint) is
'The channels with attempts that failed lately.';

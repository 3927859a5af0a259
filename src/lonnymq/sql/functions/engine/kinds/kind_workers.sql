-- The number of active workers that take a kind; '' is messages without a kind.
create or replace function lonnymq.kind_workers(p_kind text, p_now bigint)
returns bigint
language sql
stable
as $$
  select count(*) from (select * from lonnymq.worker w order by w.name limit 10000) w
  where w.seen_at + 3 * w.interval_ms >= p_now and not w.stopping
    and (w.kinds is null or p_kind = any (w.kinds))
$$;

comment on function lonnymq.kind_workers(text, bigint) is
'The number of active workers that take a kind.';

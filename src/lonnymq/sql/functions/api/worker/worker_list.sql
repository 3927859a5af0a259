-- Lists workers by name, after `p_after`. A worker is not alive if the worker has not
-- reported for three times its interval.
create or replace function lonnymq.worker_list(
  p_after text default null, p_limit integer default 100
)
returns table (
  name text, alive boolean, stopping boolean, concurrency integer, running integer,
  started_at bigint, seen_at bigint, about jsonb, now_at bigint
)
language plpgsql
stable
as $$
#variable_conflict use_column
declare
  v_now bigint := lonnymq.epoch();
begin
  perform lonnymq.guard_range('limit', p_limit, 1, 10000);
  return query
  select w.name, w.seen_at + 3 * w.interval_ms >= v_now, w.stopping, w.concurrency, w.running,
    w.started_at, w.seen_at, w.about, v_now
  from lonnymq.worker w
  where w.name > coalesce(p_after, '')
  order by w.name
  limit p_limit;
end
$$;

comment on function lonnymq.worker_list(text, integer) is
'Lists workers, with the time of their last report.';

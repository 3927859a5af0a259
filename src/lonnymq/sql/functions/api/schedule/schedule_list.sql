-- Lists schedules by name, after `p_after`. `next_at` is null until a worker has computed the next run.
-- `now_at` is the time of the database.
create or replace function lonnymq.schedule_list(
  p_after text default null, p_limit integer default 100
)
returns table (
  name text, cron text, every_ms bigint, timezone text, channel text, kind text, headers jsonb,
  content bytea, misfire text, paused boolean, last_run_at bigint, next_at bigint,
  message_id bigint, answer text, set_at bigint, version bigint, now_at bigint
)
language plpgsql
stable
as $$
#variable_conflict use_column
begin
  perform lonnymq.guard_range('limit', p_limit, 1, 10000);
  return query
  select s.name, s.cron, s.every_ms, s.timezone, s.channel, s.kind, s.headers, s.content, s.misfire,
    s.paused, s.last_run_at, s.next_at, s.message_id, s.answer, s.set_at, s.version, lonnymq.epoch()
  from lonnymq.schedule s
  where s.name > coalesce(p_after, '')
  order by s.name
  limit p_limit;
end
$$;

comment on function lonnymq.schedule_list(text, integer) is
'Lists schedules.';

-- The headers of a message that a schedule creates: its own, with the schedule and the run.
create or replace function lonnymq.schedule_headers(
  p_name text, p_run_at bigint, p_headers jsonb
)
returns jsonb
language sql
immutable
as $$
  select coalesce(p_headers, '{}') || jsonb_build_object('schedule', p_name, 'run_at', p_run_at)
$$;

comment on function lonnymq.schedule_headers(text, bigint, jsonb) is
'The headers of a message that a schedule creates.';

-- Returns the time of the database in epoch milliseconds: the present time, or the given time.
-- `epoch(now())` is the start of the transaction. All functions read the time here, so a test can
-- replace this function to set the time.
create or replace function lonnymq.epoch(p_at timestamptz default clock_timestamp())
returns bigint
language sql
volatile
as $$
  select floor(extract(epoch from p_at) * 1000)::bigint
$$;

comment on function lonnymq.epoch(timestamptz) is
'Returns the time of the database in epoch milliseconds.';

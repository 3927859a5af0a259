-- The one clock: database time in epoch milliseconds, of this instant or of the instant given.
-- epoch(now()) is the time of the transaction. A test replaces this function, and time is its own.
create or replace function lonnymq.epoch(p_at timestamptz default clock_timestamp())
returns bigint
language sql
volatile
as $$
  select floor(extract(epoch from p_at) * 1000)::bigint
$$;

comment on function lonnymq.epoch(timestamptz) is
'Database time in epoch milliseconds.';

-- The name of the partition of history for a day, counted from 1 January 1970 in UTC.
create or replace function lonnymq.history_day_name(p_day bigint)
returns text
language sql
stable
as $$
  select 'history_' || to_char(to_timestamp(p_day * 86400) at time zone 'UTC', 'YYYYMMDD')
$$;

comment on function lonnymq.history_day_name(bigint) is
'The name of the partition of history for a day.';

-- A moment in epoch milliseconds as people write it, in UTC.
create or replace function lonnymq.epoch_text(p_at bigint)
returns text
language sql
stable
as $$
  select case
    when p_at between -62135596800000 and 253402300799999
      then to_char(to_timestamp(p_at / 1000.0) at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.MS')
        || ' UTC'
    else p_at::text
  end
$$;

comment on function lonnymq.epoch_text(bigint) is
'A time in epoch milliseconds as text, in UTC.';

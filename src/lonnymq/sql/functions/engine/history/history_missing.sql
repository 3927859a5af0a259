-- The days from p_today up to two weeks later that have no partition of history and could have one: a day
-- of which there are rows in the default partition stays there.
create or replace function lonnymq.history_missing(p_today bigint)
returns bigint[]
language sql
stable
as $$
  select array(
    select d.day
    from generate_series(p_today, p_today + 14) as d (day)
    where to_regclass('lonnymq.' || lonnymq.history_day_name(d.day)) is null
      and (
        select true from lonnymq.history_other o
        where o.finished_at >= d.day * 86400000 and o.finished_at < (d.day + 1) * 86400000
        order by o.finished_at limit 1
      ) is null
    order by d.day
  )
$$;

comment on function lonnymq.history_missing(bigint) is
'The days of the next two weeks that need a partition of history.';

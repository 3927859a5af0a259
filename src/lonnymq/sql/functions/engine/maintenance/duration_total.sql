-- Adds arrays of counts element by element: an array of the arrays, as array_agg makes it.
create or replace function lonnymq.duration_total(p_counts bigint[])
returns bigint[]
language sql
immutable
as $$
  select array(
    select sum(c.count)::bigint
    from unnest(p_counts) with ordinality as c (count, place)
    group by (c.place - 1) % array_length(p_counts, 2)
    order by (c.place - 1) % array_length(p_counts, 2)
  )
$$;

comment on function lonnymq.duration_total(bigint[]) is
'Adds arrays of counts.';

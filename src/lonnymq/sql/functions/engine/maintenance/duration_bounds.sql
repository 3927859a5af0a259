-- The upper bounds of the buckets in which durations are counted, in ms: 1, 2, 5, 10 … 100,000,000. A last bucket has
-- no bound.
create or replace function lonnymq.duration_bounds()
returns bigint[]
language sql
immutable
as $$
  select '{1,2,5,10,20,50,100,200,500,1000,2000,5000,10000,20000,50000,100000,200000,500000,1000000,2000000,
    5000000,10000000,20000000,50000000,100000000}'::bigint[]
$$;

comment on function lonnymq.duration_bounds() is
'The upper bounds of the buckets in which durations are counted.';

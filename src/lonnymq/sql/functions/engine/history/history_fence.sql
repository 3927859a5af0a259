-- The days of which the default partition of history has promised to hold no rows, from first up to last,
-- which is not included: a check constraint that carries them in its name. With a promise that is kept,
-- partitions of these days are attached without a look at the rows of the default partition.
-- Answers: one row, or nulls where there is no such promise.
create or replace function lonnymq.history_fence(
  out name text, out first bigint, out last bigint, out is_valid boolean
)
language sql
stable
as $$
  select c.conname::text, split_part(c.conname, '_', 2)::bigint, split_part(c.conname, '_', 3)::bigint,
    c.convalidated
  from pg_constraint c
  where c.conrelid = 'lonnymq.history_other'::regclass and c.conname ~ '^fence_\d+_\d+$'
  order by c.conname
  limit 1
$$;

comment on function lonnymq.history_fence() is
'The days of which the default partition of history holds no rows.';

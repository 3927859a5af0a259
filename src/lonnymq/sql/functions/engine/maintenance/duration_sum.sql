-- Adds two arrays of counts element by element. A null counts as zeros.
create or replace function lonnymq.duration_sum(p_counts bigint[], p_more bigint[])
returns bigint[]
language sql
immutable
as $$
  select array(
    select coalesce(u.count, 0) + coalesce(u.more, 0)
    from unnest(p_counts, p_more) with ordinality as u (count, more, bucket)
    order by u.bucket
  )
$$;

comment on function lonnymq.duration_sum(bigint[], bigint[]) is
'Adds two arrays of counts.';

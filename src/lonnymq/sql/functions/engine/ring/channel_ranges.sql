-- The parts of a channel in which messages may wait, in order: from the floor to the gap, and from the end
-- of the gap on. PostgreSQL inlines this function into the calling query.
create or replace function lonnymq.channel_ranges(
  p_floor_at bigint, p_floor_id bigint, p_gap_at bigint, p_gap_id bigint, p_gap_end_at bigint,
  p_gap_end_id bigint
)
returns table (first_at bigint, first_id bigint, last_at bigint, last_id bigint)
language sql
immutable
as $$
  select p_floor_at, p_floor_id, coalesce(p_gap_at, 9223372036854775807),
    coalesce(p_gap_id, 9223372036854775807)
  union all
  select p_gap_end_at, p_gap_end_id, 9223372036854775807, 9223372036854775807
  where p_gap_end_at is not null
$$;

comment on function lonnymq.channel_ranges(bigint, bigint, bigint, bigint, bigint, bigint) is
'The parts of a channel in which messages may wait.';

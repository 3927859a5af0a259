-- The gap of a channel after messages came back below the gap's end, or below the floor of a channel without
-- a gap. p_gap is the gap so far: {gap_at, gap_id, gap_end_at, gap_end_id}. p_last is the last of the
-- messages that came back, and p_next the first of all others. Everything between them was leased or gone.
-- A gap of less than a second and less than 1,000 ids is not worth a second range.
create or replace function lonnymq.channel_gap(
  p_gap bigint[], p_floor bigint[], p_last bigint[], p_next bigint[], p_now bigint
)
returns bigint[]
language sql
immutable
as $$
  select g.first || g.last
  from (
    select greatest(p_gap[1:2], p_last) as first,
      least(coalesce(p_gap[3:4], p_floor), p_next, array[p_now, 0]) as last
  ) g
  where g.first < g.last
    and (g.first[1] / 1000 < g.last[1] / 1000 - 1 or g.first[2] < g.last[2] - 1000)
$$;

comment on function lonnymq.channel_gap(bigint[], bigint[], bigint[], bigint[], bigint) is
'The gap of a channel after messages came back.';

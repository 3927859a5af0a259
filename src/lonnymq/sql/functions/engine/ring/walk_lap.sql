-- Where a lap ends when its walk has gone from one seat to another. A lap ends with those who sat down during
-- it, up to the moment when the walk came to the first of them: from then on it is in its tail, and the
-- number is negative. Whoever leaves and sits down again after its visit is behind that end.
-- Written into the expression that calls it: it costs no call.
create or replace function lonnymq.walk_lap(
  p_lap bigint, p_from bigint, p_seat bigint, p_seat_last bigint
)
returns bigint
language sql
immutable
as $$
  select case
    when p_seat > abs(p_lap) then -p_seat_last
    when p_seat > p_from then p_lap
    when p_lap < 0 then -p_lap
    else p_seat_last
  end
$$;

comment on function lonnymq.walk_lap(bigint, bigint, bigint, bigint) is
'The end of a lap after a walk from a seat to another seat.';

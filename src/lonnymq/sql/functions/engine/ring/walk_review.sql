-- Looks at the channels of a window again, for the folder: those that gave less than they were asked for
-- may be empty. Floors are moved up now and then, those of a window together, which is cheaper, and when
-- the walk was slow: then it passed much that is gone.
create or replace function lonnymq.walk_review(
  p_window lonnymq.ring_window, p_taken bigint[], p_seat bigint, p_now bigint, p_started timestamptz
)
returns void
language plpgsql
as $$
declare
  v_count bigint := (select sum(t) from unnest(p_taken) as t);
  v_is_due boolean;
  v_ids bigint[];
begin
  v_is_due := clock_timestamp() - p_started > interval '2 milliseconds'
      + interval '50 microseconds' * (cardinality(p_window.seats) + v_count)
    or random() * (84 + 16 * cardinality(p_window.seats)) < v_count;
  select array_agg(w.id) into v_ids
  from unnest(p_window.ids, p_window.quotas, p_taken) with ordinality as w (id, quota, taken, place)
  where w.place <= array_position(p_window.seats, p_seat) and (w.taken < w.quota or v_is_due);
  if v_ids is not null then
    perform lonnymq.channel_advance_floor(v_ids, p_now);
  end if;
end
$$;

comment on function lonnymq.walk_review(
  lonnymq.ring_window, bigint[], bigint, bigint, timestamptz
) is
'Looks at the channels of a window again: empty ones leave, floors are moved up.';

-- Looks at the channels of a window again, for the folder: those that gave less than they were asked for
-- may be empty. Floors are moved up now and then, those of a window together, which is cheaper, and when
-- the walk was slow: then it passed much that is gone.
create or replace function lonnymq.walk_review(
  p_walk lonnymq.walk, p_window lonnymq.ring_window, p_taken bigint[], p_started timestamptz
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
  where w.place <= array_position(p_window.seats, p_walk.seat)
    and (w.taken < w.quota or v_is_due
      or (p_walk.filter_id is not null and (w.quota = 0 or w.id = any (p_window.locked))));
  if v_ids is not null then
    perform lonnymq.channel_advance_floor(v_ids, p_walk.now_at);
    if p_walk.filter_id is not null then
      perform lonnymq.kind_review(p_walk, v_ids);
    end if;
  end if;
end
$$;

comment on function lonnymq.walk_review(
  lonnymq.walk, lonnymq.ring_window, bigint[], timestamptz
) is
'Looks at the channels of a window again: empty ones leave, floors are moved up.';

-- Locks the messages that a window is due, at most as many as the walk may still take, without waiting.
-- Written without gaps, which few windows have (walk_take_gaps).
-- Answers: their ctids and ids in the order of turns, the place of each one's channel in the window, and
--   how many each channel gives.
create or replace function lonnymq.walk_take(
  p_walk lonnymq.walk, p_window lonnymq.ring_window, p_choice lonnymq.claim_choice,
  out tids tid[], out ids bigint[], out places integer[], out taken bigint[]
)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_last_at bigint := least(p_walk.now_at, p_choice.last_at);
  v_has_gaps boolean := array_remove(p_window.gap_ats, null) <> '{}';
  v_place integer;
begin
  taken := array_fill(0::bigint, array[cardinality(p_window.seats)]);
  if cardinality(p_window.seats) = 1 and not v_has_gaps and p_walk.filter_id is null then
    select array_agg(m.tid), array_agg(m.id) into tids, ids
    from (
      select m.ctid as tid, m.id
      from lonnymq.message m
      where m.channel = p_window.names[1]
        and (m.dequeue_at, m.id) >= (p_window.floor_ats[1], p_window.floor_ids[1])
        and m.dequeue_at <= v_last_at and m.token is null and (m.expires_at > p_walk.now_at) is not false
        and (p_choice.last_id is null or m.id <= p_choice.last_id)
      order by m.dequeue_at, m.id
      limit least(p_window.quotas[1], p_walk.remaining)
      for update skip locked
    ) m;
    taken[1] := coalesce(cardinality(ids), 0);
    places := array_fill(1, array[taken[1]::integer]);
    return;
  end if;

  if p_walk.filter_id is not null then
    select t.tids, t.ids, t.places into tids, ids, places
    from lonnymq.walk_take_kinds(p_walk, p_window) t;
  elsif v_has_gaps then
    select g.tids, g.ids, g.places into tids, ids, places
    from lonnymq.walk_take_gaps(p_walk, p_window, p_choice) g;
  else
    select array_agg(t.tid order by t.round, t.place, t.rank),
      array_agg(t.id order by t.round, t.place, t.rank),
      array_agg(t.place order by t.round, t.place, t.rank)
    into tids, ids, places
    from (
      select m.tid, m.id, w.place::integer as place, m.rank,
        (m.rank - 1 + case when w.place = 1 then p_window.used else 0 end) / w.weight as round
      from unnest(p_window.names, p_window.floor_ats, p_window.floor_ids, p_window.quotas,
          p_window.weights)
        with ordinality as w (name, floor_at, floor_id, quota, weight, place)
      cross join lateral (
        select m.tid, m.id, row_number() over () as rank
        from (
          select m.ctid as tid, m.id
          from lonnymq.message m
          where m.channel = w.name and (m.dequeue_at, m.id) >= (w.floor_at, w.floor_id)
            and m.dequeue_at <= v_last_at and m.token is null
            and (m.expires_at > p_walk.now_at) is not false
            and (p_choice.last_id is null or m.id <= p_choice.last_id)
          order by m.dequeue_at, m.id
          limit w.quota
          for update skip locked
        ) m
      ) m
      limit p_walk.remaining
    ) t;
  end if;
  if places is not null then
    foreach v_place in array places loop
      taken[v_place] := taken[v_place] + 1;
    end loop;
  end if;
end
$$;

comment on function lonnymq.walk_take(
  lonnymq.walk, lonnymq.ring_window, lonnymq.claim_choice
) is
'Locks the messages that a window of channels is due.';

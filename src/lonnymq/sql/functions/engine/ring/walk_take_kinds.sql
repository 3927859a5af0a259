-- Locks the messages of a walk's kinds that a window is due: as walk_take, channel by channel.
create or replace function lonnymq.walk_take_kinds(
  p_walk lonnymq.walk, p_window lonnymq.ring_window,
  out tids tid[], out ids bigint[], out places integer[]
)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_left bigint := p_walk.remaining;
  v_rounds bigint[];
  v_taken record;
begin
  for v_place in 1 .. cardinality(p_window.seats) loop
    exit when v_left = 0;
    continue when p_window.quotas[v_place] <= 0;
    select t.tids, t.ids into v_taken
    from lonnymq.kind_take(p_window.names[v_place], p_walk.kinds, p_window.floor_ats[v_place],
      p_window.floor_ids[v_place], p_walk.now_at, least(p_window.quotas[v_place], v_left)) t;
    continue when v_taken.ids is null;
    tids := tids || v_taken.tids;
    ids := ids || v_taken.ids;
    places := places || array_fill(v_place, array[cardinality(v_taken.ids)]);
    v_rounds := v_rounds || array(
      select (r - 1 + case when v_place = 1 then p_window.used else 0 end) / p_window.weights[v_place]
      from generate_series(1, cardinality(v_taken.ids)) as r);
    v_left := v_left - cardinality(v_taken.ids);
  end loop;
  if p_window.rounds > 1 and ids is not null then
    select array_agg(t.tid order by t.round, t.place, t.rank),
      array_agg(t.id order by t.round, t.place, t.rank),
      array_agg(t.place order by t.round, t.place, t.rank)
    into tids, ids, places
    from unnest(tids, ids, places, v_rounds) with ordinality as t (tid, id, place, round, rank);
  end if;
end
$$;

comment on function lonnymq.walk_take_kinds(lonnymq.walk, lonnymq.ring_window) is
'Locks the messages of some kinds that a window of channels is due.';

-- Locks the messages that a window is due where some of its channels have a gap: as walk_take, which is quicker
-- because it knows one range of each channel only.
create or replace function lonnymq.walk_take_gaps(
  p_walk lonnymq.walk, p_window lonnymq.ring_window, p_choice lonnymq.claim_choice,
  out tids tid[], out ids bigint[], out places integer[]
)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_last_at bigint := least(p_walk.now_at, p_choice.last_at);
begin
  select array_agg(t.tid order by t.round, t.place, t.rank),
    array_agg(t.id order by t.round, t.place, t.rank),
    array_agg(t.place order by t.round, t.place, t.rank)
  into tids, ids, places
  from (
    select m.tid, m.id, w.place::integer as place, m.rank,
      (m.rank - 1 + case when w.place = 1 then p_window.used else 0 end) / w.weight as round
    from unnest(p_window.names, p_window.floor_ats, p_window.floor_ids, p_window.gap_ats,
        p_window.gap_ids, p_window.gap_end_ats, p_window.gap_end_ids, p_window.quotas,
        p_window.weights)
      with ordinality as w (name, floor_at, floor_id, gap_at, gap_id, gap_end_at, gap_end_id, quota,
        weight, place)
    cross join lateral (
      select m.tid, m.id, row_number() over () as rank
      from (
        select m.tid, m.id
        from lonnymq.channel_ranges(w.floor_at, w.floor_id, w.gap_at, w.gap_id, w.gap_end_at,
          w.gap_end_id) r
        cross join lateral (
          select m.ctid as tid, m.id
          from lonnymq.message m
          where m.channel = w.name and (m.dequeue_at, m.id) >= (r.first_at, r.first_id)
            and (m.dequeue_at, m.id) <= (r.last_at, r.last_id)
            and m.dequeue_at <= v_last_at and m.token is null
            and (m.expires_at > p_walk.now_at) is not false
            and (p_choice.last_id is null or m.id <= p_choice.last_id)
          order by m.dequeue_at, m.id
          limit w.quota
          for update skip locked
        ) m
        limit w.quota
      ) m
    ) m
    limit p_walk.remaining
  ) t;
end
$$;

comment on function lonnymq.walk_take_gaps(
  lonnymq.walk, lonnymq.ring_window, lonnymq.claim_choice
) is
'Locks the messages that a window of channels with gaps is due.';

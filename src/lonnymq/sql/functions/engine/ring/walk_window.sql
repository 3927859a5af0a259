-- The next channels of a walk, at most p_most, and how many messages each is due: its weight, and several
-- rounds of it at once where the ring is smaller than what may be taken. None of a paused one.
-- Answers: the window; its seats are null where nobody is left.
create or replace function lonnymq.walk_window(
  p_walk lonnymq.walk, p_most integer, p_choice lonnymq.claim_choice
)
returns lonnymq.ring_window
language plpgsql
stable
as $$
declare
  v_window lonnymq.ring_window;
  v_paused boolean[];
  v_weight bigint;
begin
  if p_walk.filter_id is not null then
    select array_agg(w.seat), array_agg(w.channel_id), array_agg(w.name), array_agg(w.floor_at),
      array_agg(w.floor_id), array_agg(w.weight), array_agg(w.bits),
      array_agg(w.channel_id) filter (where w.is_limited), array_agg(w.limits), array_agg(w.paused),
      sum(w.weight)
    into v_window.seats, v_window.ids, v_window.names, v_window.floor_ats, v_window.floor_ids,
      v_window.weights, v_window.bits, v_window.limited, v_window.limits,
      v_paused, v_weight
    from lonnymq.ring_seats_kinds(p_walk, p_choice.channels, p_most) w;
  elsif p_choice.channels is null and p_choice.pattern is null then
    select array_agg(w.seat), array_agg(w.channel_id), array_agg(w.name), array_agg(w.floor_at),
      array_agg(w.floor_id), array_agg(w.gap_at), array_agg(w.gap_id), array_agg(w.gap_end_at),
      array_agg(w.gap_end_id), array_agg(w.weight), array_agg(w.bits),
      array_agg(w.channel_id) filter (where w.is_limited), array_agg(w.limits), array_agg(w.paused),
      sum(w.weight)
    into v_window.seats, v_window.ids, v_window.names, v_window.floor_ats, v_window.floor_ids,
      v_window.gap_ats, v_window.gap_ids, v_window.gap_end_ats, v_window.gap_end_ids,
      v_window.weights, v_window.bits, v_window.limited, v_window.limits,
      v_paused, v_weight
    from lonnymq.ring_seats(p_walk.seat, p_walk.lap, p_walk.seat_last, p_walk.seat_floor, p_most,
      p_walk.pending) w;
  else
    select array_agg(w.seat), array_agg(w.channel_id), array_agg(w.name), array_agg(w.floor_at),
      array_agg(w.floor_id), array_agg(w.gap_at), array_agg(w.gap_id), array_agg(w.gap_end_at),
      array_agg(w.gap_end_id), array_agg(w.weight), array_agg(w.bits),
      array_agg(w.channel_id) filter (where w.is_limited), array_agg(w.limits), array_agg(w.paused),
      sum(w.weight)
    into v_window.seats, v_window.ids, v_window.names, v_window.floor_ats, v_window.floor_ids,
      v_window.gap_ats, v_window.gap_ids, v_window.gap_end_ats, v_window.gap_end_ids,
      v_window.weights, v_window.bits, v_window.limited, v_window.limits,
      v_paused, v_weight
    from (
      select * from lonnymq.ring_seats_of(p_choice.channels, p_walk.seat, p_walk.lap,
        p_walk.seat_last, p_walk.seat_floor, p_walk.pending)
      union all
      select * from lonnymq.ring_seats(p_walk.seat, p_walk.lap, p_walk.seat_last, p_walk.seat_floor,
        2147483647, p_walk.pending) w
      where p_choice.channels is null and w.name ~ ('^(?:' || p_choice.pattern || ')$')
      limit p_most
    ) w;
  end if;
  v_window.is_whole := coalesce(cardinality(v_window.seats), 0) < p_most
    and not (p_walk.lap < 0 and -p_walk.lap < p_walk.seat_last);
  v_window.rounds := case when v_window.is_whole then greatest(1, p_walk.remaining / v_weight)
    else 1 end;
  v_window.used := case when v_window.seats[1] = p_walk.seat + 1
    and p_walk.used < v_window.weights[1] then p_walk.used else 0 end;
  v_window.quotas := v_window.weights;
  if v_window.rounds > 1 then
    v_window.quotas := array(select w * v_window.rounds from unnest(v_window.weights) as w);
  end if;
  v_window.quotas[1] := v_window.quotas[1] - v_window.used;
  if true = any (v_paused) then
    v_window.quotas := array(
      select case when w.paused then 0 else w.quota end
      from unnest(v_window.quotas, v_paused) as w (quota, paused));
  end if;
  return v_window;
end
$$;

comment on function lonnymq.walk_window(lonnymq.walk, integer, lonnymq.claim_choice) is
'The next channels of a walk, and how many messages each is due.';

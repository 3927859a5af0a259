-- Locks the channels of a window that have limits, and brings what they are due down to what their
-- concurrency allows, and their rate by the generic cell rate algorithm. Lock first, look after: what a
-- channel may give is found out in a statement that begins when its row is held.
-- Nothing is due from a channel that another call holds, that has left the ring, or whose first limit is
-- not counted yet (limit_begin).
create or replace function lonnymq.walk_quota(
  p_window lonnymq.ring_window, p_is_folder boolean
)
returns lonnymq.ring_window
language plpgsql
as $$
declare
  v_window lonnymq.ring_window := p_window;
  v_later bigint[];
begin
  select array_agg(l.id) into v_window.locked
  from (
    select c.id from lonnymq.channel c where c.id = any (p_window.limited) order by c.id
    for update skip locked
  ) l;
  v_window.is_contended := cardinality(v_window.locked) is distinct from cardinality(p_window.limited);
  v_window.now_at := lonnymq.epoch();
  for v_try in 1 .. 2 loop
    select array_agg(case when w.id <> all (p_window.limited) then w.quota
        when l.is_begun then least(w.quota, l.allowed) else 0 end order by w.place),
      array_agg(case when l.max_concurrency is null then w.bits & 4 else w.bits | 1 end
        order by w.place),
      array_agg(w.id) filter (where not l.is_begun)
    into v_window.quotas, v_window.bits, v_later
    from unnest(p_window.ids, p_window.quotas, p_window.bits)
      with ordinality as w (id, quota, bits, place)
    left join lateral (
      select l.max_concurrency, l.is_begun, greatest(0, least(
          l.max_concurrency - l.in_flight,
          case when l.min_interval_ms is not null then
            (v_window.now_at + l.burst * l.min_interval_ms - greatest(l.tat, v_window.now_at))
            / l.min_interval_ms
          end, w.quota
        )) as allowed
      from lonnymq.channel_position p
      cross join lateral lonnymq.channel_limit(w.id) l
      where w.id = any (v_window.locked) and p.channel_id = w.id and p.seat is not null
      order by p.version desc limit 1
    ) l on true;
    exit when v_later is null;
    -- Only the folder begins to count; then it looks once more.
    if v_try = 2 or not p_is_folder or not lonnymq.limit_begin(v_later) then
      v_window.is_contended := true;
      exit;
    end if;
  end loop;
  return v_window;
end
$$;

comment on function lonnymq.walk_quota(lonnymq.ring_window, boolean) is
'Locks the channels of a window that have limits, and computes their quotas.';

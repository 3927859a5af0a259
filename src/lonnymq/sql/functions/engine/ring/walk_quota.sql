-- Locks the counters of the channels of a window that have limits, and brings what the channels are due down to what
-- their concurrency allows, and their rate by the generic cell rate algorithm. A counter is locked and read at once:
-- whoever has locked the row reads its newest values. The limits are those that the window has read.
-- Nothing is due from a channel whose counter another call holds, or whose first limit is not counted yet (limit_begin).
-- A lease that leaves its channel 64 free slots or more, and more than half of all, is marked (bit 8 is not set): the
-- change of its end can wait.
create or replace function lonnymq.walk_quota(
  p_window lonnymq.ring_window, p_is_folder boolean
)
returns lonnymq.ring_window
language plpgsql
as $$
declare
  v_window lonnymq.ring_window := p_window;
  v_now bigint := lonnymq.epoch();
  v_missing bigint[];
  v_later bigint[];
begin
  for v_try in 1 .. 3 loop
    select array_agg(case when w.epoch is null then w.quota
        when l.is_begun then least(w.quota, l.allowed) else 0 end),
      array_agg(case when (l.slots - w.quota) > greatest(63, w.max_concurrency / 2) then w.bits
        when w.max_concurrency is not null then w.bits | 8 else w.bits end),
      array_agg(case when l.is_begun then l.tid end), array_agg(l.in_flight), array_agg(l.tat),
      array_agg(w.id) filter (where l.is_begun),
      bool_or(w.epoch is not null and l.is_begun is not true),
      coalesce(bool_or(l.slots < w.quota), false),
      array_agg(w.id) filter (where w.epoch is not null and l.tid is null),
      array_agg(w.id) filter (where not l.is_begun)
    into v_window.quotas, v_window.bits, v_window.counters, v_window.in_flights, v_window.tats,
      v_window.locked, v_window.is_contended, v_window.is_short, v_missing, v_later
    from unnest(p_window.ids, p_window.quotas, p_window.bits, p_window.limits)
      as w (id, quota, bits, max_concurrency, min_interval_ms, burst, epoch)
    left join lateral (
      select m.ctid as tid, m.in_flight, m.tat, w.max_concurrency - m.in_flight as slots,
        w.max_concurrency is null or m.epoch = w.epoch as is_begun,
        greatest(0, least(w.max_concurrency - m.in_flight,
          (v_now + w.burst * w.min_interval_ms - greatest(m.tat, v_now)) / w.min_interval_ms)) as allowed
      from lonnymq.channel_counter m
      where w.epoch is not null and m.channel_id = w.id
      order by m.version desc limit 1
      for update skip locked
    ) l on true;
    continue when v_missing is not null and lonnymq.channel_counter_ensure(v_missing);
    -- Only the folder begins to count; then it looks once more.
    exit when v_later is null or not p_is_folder or not lonnymq.limit_begin(v_later);
  end loop;
  -- Leases are dated after the counters were locked: what they were waiting for has happened by then.
  v_window.now_at := lonnymq.epoch();
  return v_window;
end
$$;

comment on function lonnymq.walk_quota(lonnymq.ring_window, boolean) is
'Locks the counters of a window, and computes the quotas of channels with limits.';

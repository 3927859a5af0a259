-- Counts new leases of a window in the counters that the caller has locked (walk_quota), and takes the seat of channels
-- at their limit. The change of an ended lease, or the next time of the rate, brings these channels back.
-- The limits count as they were when the window was read, because settings may change meanwhile.
create or replace function lonnymq.channel_count_leases(
  p_window lonnymq.ring_window, p_taken bigint[], p_now bigint, p_is_folder boolean
)
returns void
language plpgsql
as $$
declare
  v_ids bigint[];
  v_wake_ats bigint[];
begin
  update lonnymq.channel_counter m
  set in_flight = m.in_flight + case when w.max_concurrency is null then 0 else w.taken end,
    tat = case when w.min_interval_ms is null then m.tat
      else greatest(m.tat, p_now) + w.taken * w.min_interval_ms end,
    version = m.version + (random() < 0.016)::integer
  from unnest(p_window.counters, p_taken, p_window.limits)
    as w (tid, taken, max_concurrency, min_interval_ms, burst, epoch)
  where m.ctid = w.tid and w.taken > 0;

  select array_agg(w.id), array_agg(case when w.in_flight + w.taken >= w.max_concurrency then null
    else l.allowed_at end)
  into v_ids, v_wake_ats
  from unnest(p_window.ids, p_window.counters, p_window.in_flights, p_window.tats, p_taken, p_window.limits)
    as w (id, tid, in_flight, tat, taken, max_concurrency, min_interval_ms, burst, epoch)
  cross join lateral (
    select case when w.taken = 0 then w.tat else greatest(w.tat, p_now) + w.taken * w.min_interval_ms end
      - (w.burst - 1) * w.min_interval_ms as allowed_at
  ) l
  where w.tid is not null and (w.in_flight + w.taken >= w.max_concurrency or l.allowed_at > p_now);
  if v_ids is not null then
    perform lonnymq.channel_hold(v_ids, v_wake_ats, p_is_folder);
  end if;
end
$$;

comment on function lonnymq.channel_count_leases(lonnymq.ring_window, bigint[], bigint, boolean) is
'Counts new leases, and takes the seat of channels at their limit.';

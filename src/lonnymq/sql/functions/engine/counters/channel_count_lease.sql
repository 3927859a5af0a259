-- Counts a lease of a channel in its counter, which the caller has locked, and takes the channel's seat if the limit is
-- reached: channel_count_leases for a single channel.
create or replace function lonnymq.channel_count_lease(
  p_channel_id bigint, p_limits lonnymq.channel_limits, p_counter tid, p_in_flight bigint,
  p_tat bigint, p_now bigint, p_is_folder boolean
)
returns void
language plpgsql
as $$
declare
  v_tat bigint := greatest(p_tat, p_now) + p_limits.min_interval_ms;
  v_allowed_at bigint := v_tat - (p_limits.burst - 1) * p_limits.min_interval_ms;
  v_is_full boolean := coalesce(p_in_flight + 1 >= p_limits.max_concurrency, false);
begin
  update lonnymq.channel_counter m
  set in_flight = m.in_flight + case when p_limits.max_concurrency is null then 0 else 1 end,
    tat = coalesce(v_tat, m.tat), version = m.version + (random() < 0.016)::integer
  where m.ctid = p_counter;
  if v_is_full or v_allowed_at > p_now then
    perform lonnymq.channel_hold(array[p_channel_id], array[case when not v_is_full then v_allowed_at end],
      p_is_folder);
  end if;
end
$$;

comment on function lonnymq.channel_count_lease(
  bigint, lonnymq.channel_limits, tid, bigint, bigint, bigint, boolean
) is
'Counts a lease of a channel, and takes the seat of the channel at its limit.';

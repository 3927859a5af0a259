-- Gives a channel whose row the caller has locked the policy that people said, and has its whole
-- line looked at: it gets a seat unless it is paused, and its floor falls.
--
-- A limit that was not there before counts what is leased already. Leases that a dequeue takes
-- while the setting is being committed were taken without it, and are not counted.
create or replace function lonnymq.channel_adopt(p_channel text, p_now bigint)
returns void
language plpgsql
as $$
declare
  v_old lonnymq.channel;
  v_new record;
  v_counted bigint;
begin
  select * into v_old from lonnymq.channel c where c.name = p_channel;
  select * into v_new from lonnymq.channel_policy(p_channel);

  if v_old.max_concurrency is null and v_new.max_concurrency is not null then
    v_counted := lonnymq.lease_count(p_channel, 1);
    if v_counted > 0 then
      perform lonnymq.meter_add(v_old.id, v_counted, 0);
    end if;
  end if;

  update lonnymq.channel c
  set max_concurrency = v_new.max_concurrency,
    release_interval_ms = v_new.release_interval_ms,
    burst = v_new.burst,
    max_size = v_new.max_size,
    when_full = v_new.when_full,
    weight = v_new.weight,
    max_attempts = v_new.max_attempts,
    most_attempts = greatest(c.most_attempts, v_new.max_attempts),
    retry_delays_ms = v_new.retry_delays_ms,
    retry_jitter = v_new.retry_jitter,
    releasing = v_new.releasing,
    floor_at = -9223372036854775808,
    floor_id = 0,
    wake_at = null,
    idle_at = p_now,
    hold = case when v_new.paused then 'paused' end,
    seat = case when not v_new.paused then coalesce(c.seat, nextval('lonnymq.seat_seq')) end,
    recount_after = case when v_new.max_size is not null then '0'::xid8 end
  where c.name = p_channel;
end
$$;

comment on function lonnymq.channel_adopt(text, bigint) is
'Gives a locked channel the policy that people said, and has its whole line looked at.';

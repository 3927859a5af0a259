-- Gives a channel whose row the caller has locked the policy that people said, and has its whole
-- line looked at: it gets a seat unless it is paused, and its floor falls. A dequeue obeys the settings
-- themselves, folded or not: this brings back into the ring what they let go on.
create or replace function lonnymq.channel_adopt(p_channel text, p_now bigint)
returns void
language plpgsql
as $$
declare
  v_old lonnymq.channel;
  v_new record;
  v_epoch bigint;
begin
  select * into v_old from lonnymq.channel c where c.name = p_channel;
  select * into v_new from lonnymq.channel_policy(p_channel);
  v_epoch := coalesce((
    select s.limit_epoch from lonnymq.channel_setting s where s.name = p_channel), 0);

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
    recount_after = case when v_new.max_size is null then null
      when c.max_size is null or c.size_epoch <> v_epoch then '0'::xid8 else c.recount_after end,
    size_epoch = v_epoch,
    early_ids = case when v_new.max_size is not null and c.size_epoch = v_epoch then c.early_ids end
  where c.id = v_old.id;

  perform lonnymq.place_move(array[p.tid], array[row(
    p.channel_id, p.version + 1,
    case when not v_new.paused then coalesce(p.seat, nextval('lonnymq.seat_seq')) end,
    null, -9223372036854775808, 0, p_now, case when v_new.paused then 'paused' end
  )::lonnymq.place])
  from (
    select p.ctid as tid, p.* from lonnymq.place p
    where p.channel_id = v_old.id order by p.version desc limit 1
  ) p;
end
$$;

comment on function lonnymq.channel_adopt(text, bigint) is
'Gives a locked channel the policy that people said, and has its whole line looked at.';

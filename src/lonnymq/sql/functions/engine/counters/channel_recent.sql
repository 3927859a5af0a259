-- The attempts of a channel in the last 5 to 10 minutes, up to the latest sample: completed, failed (with those whose
-- lease ran out and those that died), and died. The channel '' is the queue.
-- Answers: one row, or none if no attempt of the channel was ever sampled.
create or replace function lonnymq.channel_recent(p_channel text, p_now bigint)
returns table (completed bigint, failed bigint, died bigint)
language sql
stable
rows 1
as $$
  select
    case p_now / 300000 * 300000 - t.window_at when 0 then t.recent_completed + t.earlier_completed
      when 300000 then t.recent_completed else 0 end,
    case p_now / 300000 * 300000 - t.window_at when 0 then t.recent_failed + t.earlier_failed
      when 300000 then t.recent_failed else 0 end,
    case p_now / 300000 * 300000 - t.window_at when 0 then t.recent_died + t.earlier_died
      when 300000 then t.recent_died else 0 end
  from lonnymq.channel_total t where t.channel = p_channel limit 1
$$;

comment on function lonnymq.channel_recent(text, bigint) is
'The attempts of a channel in the last minutes.';

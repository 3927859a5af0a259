-- Lists what needs attention now: first the queue without a worker, then the channels in trouble, a row per channel. You
-- can call the function every few seconds: the cost does not grow with the number of channels or messages.
--
-- - `no_workers`: messages wait, and no worker sent a heartbeat lately. `channel` is null
-- - `failing`: at least `p_failing_percent` of the attempts failed in the last 5 to 10 minutes, 5 or more
-- - `dying`: messages died in the last 5 to 10 minutes
-- - `paused`: the channel is paused, and messages are due
-- - `saturated`: the channel is at its limit, and the first message has been due for `p_target_ms` or longer
-- - `throttled`: the same at the rate limit
-- - `old`: the same without a limit
--
-- Failures come from samples, which `queue_maintain` takes.
-- Answers: up to `p_limit` rows, the gravest first. `figure` of `total` attempts failed or messages died. For the other
--   reasons `figure` is the number of waiting messages, counted up to 1,000, and `since_at` the time since when the
--   first message has been due. `explanation` says what is wrong, and `advice` what to do.
create or replace function lonnymq.queue_attention(
  p_target_ms bigint default 300000,
  p_failing_percent integer default 20,
  p_limit integer default 100
)
returns table (
  reason text, channel text, figure bigint, total bigint, since_at bigint, explanation text,
  advice text, now_at bigint
)
language plpgsql
stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_now bigint := lonnymq.epoch();
begin
  perform lonnymq.guard_range('target_ms', p_target_ms, 0, 9223372036854775807);
  perform lonnymq.guard_range('failing_percent', p_failing_percent, 1, 100);
  perform lonnymq.guard_range('limit', p_limit, 1, 1000);
  return query
  with trouble as (
    select 'no_workers' as reason, null::text as channel, null::bigint as figure,
      null::bigint as total, null::bigint as since_at
    where exists (select from lonnymq.message m where m.token is null limit 1)
      and not exists (
        select from lonnymq.worker w where w.seen_at + 3 * w.interval_ms >= v_now limit 1
      )
    union all
    select case when 100 * f.failed >= p_failing_percent * (f.completed + f.failed) and f.failed >= 5
        then 'failing' else 'dying' end,
      f.channel, case when 100 * f.failed >= p_failing_percent * (f.completed + f.failed)
        and f.failed >= 5 then f.failed else f.died end, f.completed + f.failed, null
    from lonnymq.channel_failing(v_now) f
    where f.died > 0
      or (100 * f.failed >= p_failing_percent * (f.completed + f.failed) and f.failed >= 5)
    union all
    select o.reason, o.channel, null, null, o.since_at
    from lonnymq.channel_overdue(p_target_ms, v_now) o
  ), ranked as (
    select t.*, array_position(
      '{no_workers,failing,dying,paused,saturated,throttled,old}'::text[], t.reason) as rank
    from trouble t
  ), chosen as materialized (
    select r.* from (
      select distinct on (r.channel) r.* from ranked r order by r.channel, r.rank
    ) r
    order by r.rank, r.figure desc nulls last, r.since_at, r.channel
    limit p_limit
  )
  select c.reason, c.channel, coalesce(c.figure, l.waiting), c.total, c.since_at,
    lonnymq.attention_text(c.reason, coalesce(c.figure, l.waiting), c.total, c.since_at, v_now),
    lonnymq.attention_advice(c.reason), v_now
  from chosen c
  left join lateral lonnymq.channel_counts(c.channel, 1000, v_now) l on c.figure is null
  order by c.rank, c.figure desc nulls last, c.since_at, c.channel;
end
$$;

comment on function lonnymq.queue_attention(bigint, integer, integer) is
'Lists what needs attention now: the channels in trouble, with reason and advice.';

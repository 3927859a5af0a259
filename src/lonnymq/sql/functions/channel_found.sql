-- Brings channels into being that have their first message, with what people said about them or the
-- queue's defaults. Under the fold lock, so nobody else inserts one.
create or replace function lonnymq.channel_found(
  p_names text[], p_due_ats bigint[], p_due_ids bigint[], p_now bigint
)
returns void
language sql
volatile
as $$
  insert into lonnymq.channel (
    name, floor_at, floor_id, idle_at, max_concurrency, release_interval_ms, burst, max_size,
    when_full, weight, max_attempts, most_attempts, retry_delays_ms, retry_jitter, hold, releasing,
    recount_after
  )
  select i.name, coalesce(i.due_at, 9223372036854775807), coalesce(i.due_id, 0), p_now,
    e.max_concurrency, e.release_interval_ms, e.burst, e.max_size, e.when_full, e.weight,
    e.max_attempts, e.max_attempts, e.retry_delays_ms, e.retry_jitter,
    case when e.paused then 'paused' end, e.releasing,
    case when e.max_size is not null then '0'::xid8 end
  from unnest(p_names, p_due_ats, p_due_ids) as i (name, due_at, due_id)
  cross join lateral lonnymq.channel_policy(i.name) e
  where not exists (select from lonnymq.channel c where c.name = i.name)
  order by i.name
$$;

comment on function lonnymq.channel_found(text[], bigint[], bigint[], bigint) is
'Brings channels into being that have their first message.';

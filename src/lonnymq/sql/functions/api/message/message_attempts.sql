-- Lists the ended attempts of a message: the latest `p_most`.
create or replace function lonnymq.message_attempts(p_id bigint, p_most integer default 200)
returns table (
  attempt integer, outcome text, worker text, channel text, kind text, key text, headers jsonb,
  created_at bigint, dequeue_at bigint, dequeued_at bigint, finished_at bigint, size bigint,
  error text, content bytea, now_at bigint
)
language plpgsql
stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
#variable_conflict use_column
begin
  perform lonnymq.guard_range('most', p_most, 1, 20000);
  return query
  select e.attempt, e.outcome, e.worker, e.channel, e.kind, e.key, e.headers, e.created_at,
    e.dequeue_at, e.dequeued_at, e.finished_at, e.size, e.error,
    substring(e.content for 16384), lonnymq.epoch()
  from (
    select * from lonnymq.history h where h.message_id = p_id
    order by h.finished_at + 0 desc limit p_most -- no index by time is walked
  ) e
  order by e.finished_at, e.dequeued_at;
end
$$;

comment on function lonnymq.message_attempts(bigint, integer) is
'Lists the ended attempts of a message.';

-- Lists the live messages of a channel in delivery order, after the message at `p_after_at` and
-- `p_after_id`, with the first bytes of the contents.
create or replace function lonnymq.message_page(
  p_channel text,
  p_after_at bigint default null,
  p_after_id bigint default null,
  p_limit integer default 50,
  p_bytes integer default 256
)
returns table (
  id bigint, channel text, kind text, key text, attempt integer, created_at bigint,
  dequeue_at bigint, leased boolean, lease_until bigint, worker text, error text, size bigint,
  head bytea, now_at bigint
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
  perform lonnymq.guard_text('channel', p_channel);
  perform lonnymq.guard_range('limit', p_limit, 1, 1000);
  return query
  select m.id, m.channel, m.kind, m.key, m.attempt, m.created_at,
    lonnymq.message_due_at(m.dequeue_at, m.priority), m.token is not null, m.lease_until, m.worker, m.error, octet_length(m.content)::bigint,
    substring(m.content for p_bytes), lonnymq.epoch()
  from lonnymq.message m
  where m.channel = p_channel and (m.dequeue_at, m.id) > (
    coalesce((
      select a.dequeue_at from lonnymq.message a where a.id = p_after_id
    ), p_after_at, -9223372036854775808), coalesce(p_after_id, -9223372036854775808))
  order by m.dequeue_at, m.id
  limit p_limit;
end
$$;

comment on function lonnymq.message_page(text, bigint, bigint, integer, integer) is
'Lists the live messages of a channel in delivery order, page by page.';

-- Finds messages of all channels or of one channel, by state, kind, key, worker and fields of JSON contents.
-- `p_state` is `live`, `running`, `waiting`, `scheduled`, `retrying`, `dead` or `completed`. `p_fields` is a JSON
-- list: the content has to contain one of its elements, for example `[{"video": 7}]`. The function reads at most
-- 10,000 messages: live and dead messages by id, newest first, the messages of a channel in line order, the latest
-- leases, or the latest attempts. A channel together with a key reads a single message.
--
-- Answers: a row per message. `upto` continues the search as `p_after`, and is null if there are no more messages.
--   `looked_at` is the number of messages that were read. Both are the same in all rows. A single row without an id
--   if no message matches.
create or replace function lonnymq.message_find(
  p_state text default 'live',
  p_channel text default null,
  p_kind text default null,
  p_key text default null,
  p_worker text default null,
  p_fields jsonb default null,
  p_after bigint[] default null,
  p_limit integer default 50
)
returns table (
  id bigint, state text, channel text, kind text, key text, attempt integer, worker text,
  created_at bigint, dequeue_at bigint, dequeued_at bigint, finished_at bigint, error text,
  size bigint, head bytea, progress real, upto bigint[], looked_at bigint, now_at bigint
)
language plpgsql
stable
set plan_cache_mode = force_custom_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
  c_most constant integer := 10000;
  v_source text := case p_state when 'running' then 'running' when 'dead' then 'dead'
    when 'completed' then 'completed' else 'live' end;
  v_in_line boolean := v_source = 'live' and p_channel is not null;
begin
  perform lonnymq.guard_range('limit', p_limit, 1, 1000);
  if p_state is null or p_state <> all (
    '{live,running,waiting,scheduled,retrying,dead,completed}'::text[])
  then
    raise exception using errcode = 'LM001',
      message = format('there is no state %s', quote_nullable(left(p_state, 100))),
      hint = 'States: live, running, waiting, scheduled, retrying, dead, completed.';
  end if;
  if p_fields is not null and jsonb_typeof(p_fields) <> 'array' then
    raise exception using errcode = 'LM001',
      message = format('fields must be a JSON list, not %s', jsonb_typeof(p_fields));
  end if;
  return query
  with looked as materialized (
    select s.id, s.state, s.channel, s.kind, s.key, s.attempt, s.worker, s.created_at,
      s.dequeue_at, s.dequeued_at, s.finished_at, s.error, s.size, s.progress, s.ordinal, w.matches,
      case when w.matches then substring(s.content for 256) end as head
    from lonnymq.message_scan(v_source, p_channel, p_key, p_after, c_most) s
    cross join lateral (
      select (v_source <> 'live' or p_state = 'live' or s.state = p_state)
        and (p_kind is null or s.kind = p_kind)
        and (p_key is null or s.key = p_key)
        and (p_worker is null or s.worker = p_worker)
        and (p_channel is null or s.channel = p_channel)
        and (p_fields is null or (
          select bool_or(j.content @> f.field)
          from lonnymq.content_json(s.content) as j (content), jsonb_array_elements(p_fields) as f (field)
        )) as matches
      offset 0
    ) w
  ), extent as (
    select count(*) as messages, max(l.ordinal) as last_ordinal from looked l
  ), found as materialized (
    select * from looked l where l.matches order by l.ordinal limit p_limit + 1
  ), ended as (
    select case
      when v_source = 'completed' then null
      when (select count(*) from found) > p_limit
        then (select f.ordinal from found f order by f.ordinal offset p_limit - 1 limit 1)
      when e.messages >= c_most then e.last_ordinal
    end as ordinal
    from extent e
  )
  select s.id, s.state, s.channel, s.kind, s.key, s.attempt, s.worker, s.created_at, s.dequeue_at,
    s.dequeued_at, s.finished_at, s.error, s.size, s.head, s.progress, (
      select case when v_in_line then array[l.dequeue_at, l.id] else array[l.id] end
      from looked l cross join ended n where l.ordinal = n.ordinal
    ), e.messages, lonnymq.epoch()
  from extent e
  left join lateral (select * from found f order by f.ordinal limit p_limit) s on true
  order by s.ordinal;
end
$$;

comment on function lonnymq.message_find(text, text, text, text, text, jsonb, bigint[], integer) is
'Finds messages by state, kind, key, worker and fields of the content.';

-- Reads up to p_most messages for a search: live messages by id, newest first, or of a channel in line order, live
-- messages with a lease, dead messages, or the latest attempts that completed. A SQL function of a single
-- statement: the planner sees through it, so contents are not copied.
create or replace function lonnymq.message_scan(
  p_source text, p_channel text, p_key text, p_after bigint[], p_most integer
)
returns table (
  id bigint, state text, channel text, kind text, key text, attempt integer, worker text,
  created_at bigint, dequeue_at bigint, dequeued_at bigint, finished_at bigint, error text,
  content bytea, size bigint, progress real, ordinal bigint
)
language sql
stable
as $$
  select m.id, case
      when m.token is not null then 'running'
      when m.attempt > 0 then 'retrying'
      when m.dequeue_at > lonnymq.epoch() then 'scheduled'
      else 'waiting'
    end, m.channel, m.kind, m.key, m.attempt, m.worker, m.created_at, m.dequeue_at,
    m.dequeued_at, null::bigint, m.error, m.content, octet_length(m.content)::bigint, m.progress,
    row_number() over ()
  from (
    (
      select m.* from lonnymq.message m
      where p_source = 'live' and p_channel is null and m.id < coalesce(p_after[1], 9223372036854775807)
      order by m.id desc limit p_most
    )
    union all
    (
      select m.* from lonnymq.message m
      where p_source = 'live' and m.channel = p_channel and p_key is null
        and (m.dequeue_at, m.id) > (
          coalesce(p_after[1], -9223372036854775808), coalesce(p_after[2], -9223372036854775808))
      order by m.dequeue_at, m.id limit p_most
    )
    union all
    (
      select m.* from lonnymq.message m
      where p_source = 'live' and m.channel = p_channel and m.key = p_key and p_after is null
    )
    union all
    (
      select m.*
      from (
        select distinct i.id from lonnymq.lease_latest(p_most) l
        cross join unnest(l.message_ids) as i (id)
        where p_source = 'running' and i.id < coalesce(p_after[1], 9223372036854775807)
        order by i.id desc limit p_most
      ) i
      cross join lateral (
        select m.* from lonnymq.message m where m.id = i.id and m.token is not null limit 1
      ) m
      order by i.id desc
    )
  ) m
  union all
  (
    select d.id, 'dead', d.channel, d.kind, d.key, d.attempt, null, d.created_at, d.dequeue_at,
      null, d.died_at, d.error, d.content, octet_length(d.content)::bigint, null,
      row_number() over (order by d.id desc)
    from lonnymq.dead d
    where p_source = 'dead' and (p_channel is null or d.channel = p_channel)
      and d.id < coalesce(p_after[1], 9223372036854775807)
    order by d.id desc limit p_most
  )
  union all
  (
    select h.message_id, 'completed', h.channel, h.kind, h.key, h.attempt, h.worker, h.created_at,
      h.dequeue_at, h.dequeued_at, h.finished_at, h.error, h.content, h.size, null,
      row_number() over (order by h.xid desc)
    from (
      select h.* from lonnymq.history h where p_source = 'completed' and p_after is null
      order by h.xid desc limit p_most
    ) h
    where h.outcome = 'completed' and (p_channel is null or h.channel = p_channel)
  )
$$;

comment on function lonnymq.message_scan(text, text, text, bigint[], integer) is
'Reads a bounded number of messages for a search.';

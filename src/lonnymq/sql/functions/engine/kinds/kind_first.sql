-- The first message of these kinds that waits in a channel, from a position on. PostgreSQL inlines this function into
-- the calling query.
create or replace function lonnymq.kind_first(
  p_channel text, p_kinds text[], p_floor_at bigint, p_floor_id bigint, p_now bigint
)
returns table (dequeue_at bigint, id bigint)
language sql
stable
rows 1
as $$
  select m.dequeue_at, m.id
  from unnest(p_kinds) as k (kind)
  cross join lateral (
    select m.dequeue_at, m.id from lonnymq.message m
    where coalesce(m.kind, '') collate "C" = k.kind and m.channel = p_channel and m.token is null
      and (m.dequeue_at, m.id) >= (p_floor_at, p_floor_id)
      and (m.expires_at > p_now) is not false
    order by m.dequeue_at, m.id
    limit 1
  ) m
  order by m.dequeue_at, m.id
  limit 1
$$;

comment on function lonnymq.kind_first(text, text[], bigint, bigint, bigint) is
'The first message of some kinds that waits in a channel.';

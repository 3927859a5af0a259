-- Locks the first messages of these kinds in a channel, in the order of the channel, without waiting. A message that is
-- not taken is not locked either, or others would pass it over: of several kinds the first messages are found first, and
-- locked then, and more of them are read where others hold the first ones.
create or replace function lonnymq.kind_take(
  p_channel text, p_kinds text[], p_floor_at bigint, p_floor_id bigint, p_last_at bigint,
  p_limit bigint, out tids tid[], out ids bigint[]
)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_most bigint := p_limit + 8;
  v_tids tid[];
begin
  if cardinality(p_kinds) = 1 then
    select array_agg(m.tid), array_agg(m.id) into tids, ids
    from (
      select m.ctid as tid, m.id
      from lonnymq.message m
      where coalesce(m.kind, '') collate "C" = p_kinds[1] and m.channel = p_channel
        and (m.dequeue_at, m.id) >= (p_floor_at, p_floor_id) and m.dequeue_at <= p_last_at
        and m.token is null and (m.expires_at > p_last_at) is not false
      order by m.dequeue_at, m.id
      limit p_limit
      for update skip locked
    ) m;
    return;
  end if;
  loop
    select array_agg(c.tid order by c.dequeue_at, c.id) into v_tids
    from (
      select m.*
      from unnest(p_kinds) as k (kind)
      cross join lateral (
        select m.ctid as tid, m.id, m.dequeue_at
        from lonnymq.message m
        where coalesce(m.kind, '') collate "C" = k.kind and m.channel = p_channel
          and (m.dequeue_at, m.id) >= (p_floor_at, p_floor_id) and m.dequeue_at <= p_last_at
          and m.token is null and (m.expires_at > p_last_at) is not false
        order by m.dequeue_at, m.id
        limit v_most
      ) m
      order by m.dequeue_at, m.id
      limit v_most
    ) c;
    select array_agg(m.tid), array_agg(m.id) into tids, ids
    from (
      select m.tid, m.id
      from unnest(v_tids) as c (tid)
      cross join lateral (
        select m.ctid as tid, m.id from lonnymq.message m
        where m.ctid = c.tid and m.token is null and (m.expires_at > p_last_at) is not false for update skip locked
      ) m
      limit p_limit
    ) m;
    exit when cardinality(ids) >= p_limit or coalesce(cardinality(v_tids), 0) < v_most
      or v_most > 100000;
    v_most := v_most * 8;
  end loop;
end
$$;

comment on function lonnymq.kind_take(text, text[], bigint, bigint, bigint, bigint) is
'Locks the first messages of some kinds in a channel.';

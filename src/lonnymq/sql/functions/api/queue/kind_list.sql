-- Lists the kinds of live messages by name, with the number of active workers that take each kind. Messages of a kind
-- without workers wait until such a worker starts.
--
-- `waiting` is the number of messages that are not leased, and `oldest_at` the earliest `dequeue_at` of them, both read
-- from up to `p_most` messages of a kind. The kind of messages without a kind is null. Workers that do not report
-- (`worker_seen`), and callers of `message_dequeue`, are not counted.
create or replace function lonnymq.kind_list(
  p_limit integer default 100, p_most integer default 1000
)
returns table (kind text, waiting bigint, oldest_at bigint, workers bigint, now_at bigint)
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
  v_kinds text[];
begin
  perform lonnymq.guard_range('limit', p_limit, 1, 1000);
  perform lonnymq.guard_range('most', p_most, 1, 100000);
  with recursive step as (
    (
      select coalesce(m.kind, '') collate "C" as kind, 1 as place from lonnymq.message m
      order by coalesce(m.kind, '') collate "C" limit 1
    )
    union all
    select (
        select coalesce(m.kind, '') collate "C" from lonnymq.message m
        where coalesce(m.kind, '') collate "C" > s.kind
        order by coalesce(m.kind, '') collate "C" limit 1
      ), s.place + 1
    from step s where s.kind is not null and s.place < p_limit
  )
  select array_agg(s.kind) into v_kinds from step s where s.kind is not null;
  return query
  select nullif(k.kind, ''), m.waiting, m.oldest_at, lonnymq.kind_workers(k.kind, v_now), v_now
  from unnest(v_kinds) as k (kind)
  cross join lateral (
    select count(*) filter (where m.token is null) as waiting,
      min(m.due_at) filter (where m.token is null) as oldest_at
    from (
      select m.token, lonnymq.message_due_at(m.dequeue_at, m.priority) as due_at
      from lonnymq.message m
      where coalesce(m.kind, '') collate "C" = k.kind limit p_most
    ) m
  ) m;
end
$$;

comment on function lonnymq.kind_list(integer, integer) is
'Lists the kinds of live messages, with the number of active workers that take each kind.';

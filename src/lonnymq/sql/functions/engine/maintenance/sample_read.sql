-- The attempts that ended since a snapshot of history, put together: up to 200,000, and each once. Without a snapshot
-- there are none.
create or replace function lonnymq.sample_read(p_seen pg_snapshot)
returns setof lonnymq.attempt_group
language sql
stable
as $$
  select e.channel, e.kind, e.outcome,
    width_bucket(e.wait_ms - 1, lonnymq.duration_bounds()) + 1,
    width_bucket(e.run_ms - 1, lonnymq.duration_bounds()) + 1,
    count(*), sum(e.wait_ms)::bigint, sum(e.run_ms)::bigint
  from (
    (
      select h.channel, coalesce(h.kind, '') as kind, h.outcome,
        greatest(h.dequeued_at - greatest(h.dequeue_at, h.created_at), 0) as wait_ms,
        greatest(h.finished_at - h.dequeued_at, 0) as run_ms
      from lonnymq.history h
      where h.xid >= pg_snapshot_xmax(p_seen) and h.attempt > 0
      limit 200000
    )
    union all
    (
      select h.channel, coalesce(h.kind, ''), h.outcome,
        greatest(h.dequeued_at - greatest(h.dequeue_at, h.created_at), 0),
        greatest(h.finished_at - h.dequeued_at, 0)
      from pg_snapshot_xip(p_seen) as open (xid)
      cross join lateral (
        select * from lonnymq.history h where h.xid = open.xid and h.attempt > 0 limit 100000
      ) h
      limit 100000
    )
  ) e
  group by 1, 2, 3, 4, 5
$$;

comment on function lonnymq.sample_read(pg_snapshot) is
'The attempts that ended since a snapshot of history, put together.';

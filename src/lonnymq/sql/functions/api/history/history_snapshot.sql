-- Returns the present snapshot in positions of history. The xmin of the snapshot is the horizon: no
-- transaction writes rows below the horizon any more. All rows of an older generation are below the
-- horizon.
create or replace function lonnymq.history_snapshot()
returns pg_snapshot
language sql
stable
as $$
  select case when g.base = 0 then pg_current_snapshot()
    else format('%s:%s:%s',
      g.base | pg_snapshot_xmin(pg_current_snapshot())::text::bigint,
      g.base | pg_snapshot_xmax(pg_current_snapshot())::text::bigint,
      (
        select string_agg((g.base | o.id::text::bigint)::text, ',' order by o.id)
        from pg_snapshot_xip(pg_current_snapshot()) as o (id)
      ))::pg_snapshot end
  from (select n.number::bigint << 44 as base from lonnymq.queue_generation() as n (number)) g
$$;

comment on function lonnymq.history_snapshot() is
'Returns the present snapshot in positions of history.';

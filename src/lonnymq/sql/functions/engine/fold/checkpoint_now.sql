-- The newest checkpoint: how far folding has come. A checkpoint that a restore or replication wrote is
-- ignored, because the transaction ids belong to another cluster. Without a checkpoint of this cluster
-- everything is checked again.
create or replace function lonnymq.checkpoint_now()
returns setof lonnymq.checkpoint
language sql
stable
rows 1
as $$
  select t.id,
    case when t.is_own then t.until_xid else '0'::xid8 end,
    case when t.is_own then t.running_xids else '{}' end,
    coalesce(t.seat_floor, 0), coalesce(t.notified_at, '-infinity'), t.made_by,
    case when t.is_own then t.lease_mark else -9223372036854775808 end,
    case when t.is_own then t.wake_mark else -9223372036854775808 end,
    case when t.is_own then t.folded_at else -9223372036854775808 end,
    t.is_own is not true or t.has_moved
  from (select) o
  left join lateral (
    select t.xmin = t.made_by::xid as is_own, t.* from lonnymq.checkpoint t order by t.id desc limit 1
  ) t on true
$$;

comment on function lonnymq.checkpoint_now() is
'The newest checkpoint, if this cluster has written the row.';

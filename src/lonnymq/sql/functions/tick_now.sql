-- The newest tick: how far the engine has come. One that this cluster's own transactions have not written,
-- but a restore or replication, is not believed: its transaction ids are another cluster's, so everything
-- is looked at once more.
create or replace function lonnymq.tick_now()
returns setof lonnymq.tick
language sql
stable
rows 1
as $$
  select t.id,
    case when t.xmin = t.made_by::xid then t.until else '0'::xid8 end,
    case when t.xmin = t.made_by::xid then t.again else '{}' end,
    t.seat_floor, t.told_at, t.made_by,
    case when t.xmin = t.made_by::xid then t.lease_mark else -9223372036854775808 end,
    case when t.xmin = t.made_by::xid then t.wake_mark else -9223372036854775808 end,
    case when t.xmin = t.made_by::xid then t.folded_at else -9223372036854775808 end,
    t.has_moved
  from (
    select t.xmin, t.* from lonnymq.tick t order by t.id desc limit 1
  ) t
$$;

comment on function lonnymq.tick_now() is
'How far the engine has come: the newest tick, if this cluster has written it.';

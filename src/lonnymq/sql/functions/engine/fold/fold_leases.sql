-- Moves leases from changes to the table lease, which is ordered by time. Small changes that end within
-- 250 ms share a row, and a large change gets a row of its own.
-- Answers: the snapshot that was read, whether there are more, and the earliest end of a lease.
create or replace function lonnymq.fold_leases(
  p_checkpoint lonnymq.checkpoint, p_limit integer,
  out snapshot pg_snapshot, out is_more boolean, out first_at bigint
)
language plpgsql
as $$
declare
  v_tids tid[];
begin
  select pg_current_snapshot(), array_agg(n.tid) into snapshot, v_tids
  from (
    (
      select n.ctid as tid from lonnymq.change n
      where n.can_wait = any ('{false,true}') and n.xid >= p_checkpoint.until_xid and n.message_ids is not null
      limit p_limit
    )
    union all
    (
      select n.ctid from lonnymq.change n
      where n.can_wait = any ('{false,true}') and n.xid = any (p_checkpoint.running_xids)
        and n.xid < p_checkpoint.until_xid
        and n.message_ids is not null
      limit p_limit
    )
  ) n;
  is_more := coalesce(cardinality(v_tids) >= p_limit, false);
  if v_tids is null then
    return;
  end if;
  with noted as materialized (
    delete from lonnymq.change n where n.ctid = any (v_tids)
    returning n.lease_until, n.message_ids
  ), kept as (
    insert into lonnymq.lease (due_at, message_ids)
    select n.lease_until, n.message_ids from noted n where cardinality(n.message_ids) > 100
    union all
    select min(n.lease_until), array_agg(i.id)
    from noted n cross join lateral unnest(n.message_ids) as i (id)
    where cardinality(n.message_ids) <= 100
    group by n.lease_until / 250
    returning due_at
  )
  select min(k.due_at) into first_at from kept k;
end
$$;

comment on function lonnymq.fold_leases(lonnymq.checkpoint, integer) is
'Moves leases from changes to the table lease.';

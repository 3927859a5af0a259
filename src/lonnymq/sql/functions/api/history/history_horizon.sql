-- Tells where a slice of history that starts at `p_from` may end: after about `p_rows` rows, never
-- inside a transaction, and always below the horizon. Every transaction below the horizon has ended, so
-- every read of the slice returns the same rows.
--
-- Answers: `upto` (not included), the number of rows from `p_from` to `upto`, and the horizon.
create or replace function lonnymq.history_horizon(
  p_from xid8 default '0',
  p_rows bigint default 10000,
  out upto xid8,
  out rows bigint,
  out horizon xid8
)
language plpgsql
stable
as $$
#variable_conflict use_column
declare
  v_first xid8;
begin
  perform lonnymq.guard_range('rows', p_rows, 1, 1000000000);
  perform lonnymq.guard_history();
  horizon := pg_snapshot_xmin(lonnymq.history_snapshot());
  select h.xid into v_first from lonnymq.history h
  where h.xid >= p_from and h.xid < horizon
  order by h.xid limit 1;
  select h.xid into upto from lonnymq.history h
  where h.xid >= p_from and h.xid < horizon
  order by h.xid offset p_rows limit 1;
  if upto = v_first then
    -- One transaction is larger than the slice: it is taken whole.
    select h.xid into upto from lonnymq.history h
    where h.xid > v_first and h.xid < horizon
    order by h.xid limit 1;
  end if;
  upto := greatest(p_from, coalesce(upto, horizon));
  select count(*) into rows from lonnymq.history h where h.xid >= p_from and h.xid < upto;
end
$$;

comment on function lonnymq.history_horizon(xid8, bigint) is
'Tells where a slice of history may end: between transactions and below the horizon.';

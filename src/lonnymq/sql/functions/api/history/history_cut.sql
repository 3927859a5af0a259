-- Divides settled history from `p_from` on into at most `p_parts` parts of about `p_rows` rows, for
-- parallel readers. The rest is left for the next call. A part never splits a transaction and never
-- passes the horizon: every read of a part returns the same rows. A transaction that is larger than all
-- parts together is not split.
--
-- Answers: the parts in order, each from `since` up to `upto`. The row at `upto` is not included. No row
--   if there is nothing to read.
create or replace function lonnymq.history_cut(
  p_from xid8 default '0',
  p_rows bigint default 100000,
  p_parts integer default 10
)
returns table (since xid8, upto xid8)
language plpgsql
stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_horizon xid8 := pg_snapshot_xmin(lonnymq.history_snapshot());
  v_since xid8 := p_from;
  v_first xid8;
  v_next xid8;
begin
  perform lonnymq.guard_range('rows', p_rows, 1, 1000000000);
  perform lonnymq.guard_range('parts', p_parts, 1, 10000);
  perform lonnymq.guard_history();
  if p_from is null then
    raise exception using errcode = 'LM001', message = 'from must be given',
      hint = 'Use ''0'' for the beginning of history.';
  end if;
  for v_part in 1..p_parts loop
    v_first := null;
    v_next := null;
    select h.xid into v_first from lonnymq.history h
    where h.xid >= v_since and h.xid < v_horizon
    order by h.xid limit 1;
    exit when v_first is null;
    select h.xid into v_next from lonnymq.history h
    where h.xid >= v_first and h.xid < v_horizon
    order by h.xid offset p_rows limit 1;
    if v_next = v_first then
      select h.xid into v_next from lonnymq.history h
      where h.xid > v_first and h.xid < v_horizon
      order by h.xid limit 1;
    end if;
    since := v_since;
    upto := coalesce(v_next, v_horizon);
    return next;
    exit when v_next is null;
    v_since := v_next;
  end loop;
end
$$;

comment on function lonnymq.history_cut(xid8, bigint, integer) is
'Divides settled history into parts for parallel readers.';

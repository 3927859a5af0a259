-- Shows how far a reader that has read history up to `p_from` is behind, and which transaction blocks
-- newer rows. Rows are counted up to `p_most`. `counted_exactly` is false if counting stopped there.
--
-- History is readable up to the horizon: the oldest open transaction that has written rows. Old
-- snapshots of readers and replication slots do not hold the horizon back.
--
-- Answers: `horizon`, `next_xid` (the next position), the number of rows that are readable now, the
--   number of rows above the horizon, `first_xid` and `first_at` (position and time of the first unread
--   row), and the transaction that blocks the horizon: pid, or name of a prepared transaction, with
--   application, user, database, state and start time. The transaction may be in any database of the
--   server. The pid is null if you may not see other sessions.
create or replace function lonnymq.history_lag(
  p_from xid8 default '0',
  p_most bigint default 1000000,
  out horizon xid8,
  out next_xid xid8,
  out ready bigint,
  out held bigint,
  out counted_exactly boolean,
  out first_xid xid8,
  out first_at bigint,
  out now_at bigint,
  out is_held boolean,
  out holder_pid integer,
  out holder_prepared text,
  out holder_application text,
  out holder_user text,
  out holder_database text,
  out holder_state text,
  out holder_since timestamptz
)
language plpgsql
stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
#variable_conflict use_column
begin
  perform lonnymq.guard_range('most', p_most, 1, 1000000000);
  perform lonnymq.guard_history();
  if p_from is null then
    raise exception using errcode = 'LM001', message = 'from must be given',
      hint = 'Use ''0'' for the beginning of history.';
  end if;
  horizon := pg_snapshot_xmin(lonnymq.history_snapshot());
  next_xid := pg_snapshot_xmax(lonnymq.history_snapshot());
  now_at := lonnymq.epoch();
  is_held := horizon < next_xid;
  select h.xid, h.finished_at into first_xid, first_at from lonnymq.history h
  where h.xid >= p_from
  order by h.xid limit 1;
  select count(*) into ready
  from (select from lonnymq.history h where h.xid >= p_from and h.xid < horizon limit p_most) h;
  select count(*) into held
  from (
    select from lonnymq.history h where h.xid >= greatest(p_from, horizon) limit p_most
  ) h;
  counted_exactly := ready < p_most and held < p_most;

  select p.gid, p.owner::text, p.database::text, 'prepared', p.prepared
  into holder_prepared, holder_user, holder_database, holder_state, holder_since
  from pg_prepared_xacts p where is_held and p.transaction = horizon::xid;
  if found then
    return;
  end if;
  select a.pid, a.application_name, a.usename::text, a.datname::text, a.state, a.xact_start
  into holder_pid, holder_application, holder_user, holder_database, holder_state, holder_since
  from pg_stat_activity a where is_held and a.backend_xid = horizon::xid;
end
$$;

comment on function lonnymq.history_lag(xid8, bigint) is
'Shows how far a reader of history is behind, and which transaction blocks newer rows.';

-- Reads the slice of history from `p_from` up to `p_upto` (not included). The default of `p_upto` is the
-- horizon, see `history_horizon`.
--
-- Answers: the rows by position. Raises LM005 if the slice is not settled yet.
create or replace function lonnymq.history_read(p_from xid8, p_upto xid8 default null)
returns table (
  xid xid8, message_id bigint, channel text, kind text, key text, attempt integer, worker text,
  outcome text, created_at bigint, dequeue_at bigint, dequeued_at bigint, finished_at bigint,
  size bigint, error text, headers jsonb, content bytea
)
language plpgsql
stable
as $$
#variable_conflict use_column
declare
  v_horizon xid8 := pg_snapshot_xmin(lonnymq.history_snapshot());
begin
  perform lonnymq.guard_history();
  if p_from is null then
    raise exception using errcode = 'LM001', message = 'from must be given',
      hint = 'Use ''0'' for the beginning of history.';
  end if;
  if p_upto > v_horizon then
    raise exception using errcode = 'LM005',
      message = format('history is settled up to %s, not yet up to %s', v_horizon, p_upto),
      hint = 'Call history_horizon for the end of a slice. An open transaction holds the horizon back.';
  end if;
  return query
  select h.xid, h.message_id, h.channel, h.kind, h.key, h.attempt, h.worker, h.outcome,
    h.created_at, h.dequeue_at, h.dequeued_at, h.finished_at, h.size, h.error, h.headers,
    h.content
  from lonnymq.history h
  where h.xid >= p_from and h.xid < coalesce(p_upto, v_horizon)
  order by h.xid, h.finished_at, h.message_id, h.attempt;
end
$$;

comment on function lonnymq.history_read(xid8, xid8) is
'Reads a slice of history by position.';

-- Reads the slice of history from p_from up to p_upto, which is not included; up to the horizon if
-- none is given. See history_horizon.
-- Answers: the rows by position; raises LM005 if the slice is not settled yet.
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
      hint = 'Begin at ''0''.';
  end if;
  if p_upto > v_horizon then
    raise exception using errcode = 'LM005',
      message = format('history is settled below %s only, not yet below %s', v_horizon, p_upto),
      hint = 'Ask history_horizon where a slice may end. A transaction left open holds it back.';
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

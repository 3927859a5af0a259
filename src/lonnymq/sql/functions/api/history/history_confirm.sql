-- Stores how far a reader of history has saved the rows. `history_prune` drops no rows that a reader has
-- not confirmed. `history_resume` sends a reader back to the confirmed position if the database has lost
-- later rows.
--
-- Answers: `confirmed`, `behind` (the reader had confirmed a later position, and nothing changes).
create or replace function lonnymq.history_confirm(p_reader text, p_upto xid8)
returns text
language plpgsql
as $$
declare
  v_horizon xid8 := pg_snapshot_xmin(lonnymq.history_snapshot());
begin
  perform lonnymq.guard_text('reader', p_reader);
  perform lonnymq.guard_history();
  if p_upto is null then
    raise exception using errcode = 'LM001', message = 'upto must be given';
  end if;
  if p_upto > v_horizon then
    raise exception using errcode = 'LM005',
      message = format('history is settled up to %s, not yet up to %s', v_horizon, p_upto),
      hint = 'Call history_resume for the position to continue at.';
  end if;
  perform lonnymq.queue_stamp();
  insert into lonnymq.history_reader as r (name, confirmed, confirmed_at)
  values (p_reader, p_upto, clock_timestamp())
  on conflict (name) do update set confirmed = excluded.confirmed, confirmed_at = clock_timestamp()
  where r.confirmed < excluded.confirmed;
  return case when found then 'confirmed' else 'behind' end;
end
$$;

comment on function lonnymq.history_confirm(text, xid8) is
'Stores how far a reader of history has saved the rows.';

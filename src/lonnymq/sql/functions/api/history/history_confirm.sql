-- A reader of history says up to where it has it safe; history_prune drops nothing beyond, and history_resume
-- leads back there whoever has read more than the database still knows of.
-- Answers: confirmed; behind (it had confirmed more already: nothing changes).
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
      message = format('history is settled below %s only, not yet below %s', v_horizon, p_upto),
      hint = 'Ask history_resume where to go on.';
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
'A reader of history says up to where it has it safe.';

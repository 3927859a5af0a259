-- A reader of history says up to where it has it safe; history_prune drops nothing beyond.
-- Answers: confirmed; behind (it had confirmed more already: nothing changes).
create or replace function lonnymq.history_confirm(p_reader text, p_upto xid8)
returns text
language plpgsql
as $$
begin
  perform lonnymq.guard_text('reader', p_reader);
  if p_upto is null then
    raise exception using errcode = 'LM001', message = 'upto must be given';
  end if;
  if p_upto > pg_snapshot_xmin(pg_current_snapshot()) then
    raise exception using errcode = 'LM005',
      message = format('history is settled below %s only, not yet below %s',
        pg_snapshot_xmin(pg_current_snapshot()), p_upto);
  end if;
  insert into lonnymq.history_reader as r (name, confirmed) values (p_reader, p_upto)
  on conflict (name) do update set confirmed = excluded.confirmed, confirmed_at = now()
  where r.confirmed < excluded.confirmed;
  return case when found then 'confirmed' else 'behind' end;
end
$$;

comment on function lonnymq.history_confirm(text, xid8) is
'A reader of history says up to where it has it safe.';

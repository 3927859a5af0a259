-- Where a reader of history goes on that has read up to p_position by its own account. A database that lost
-- its last transactions (a promoted standby, a restored backup) knows of less than the reader has: the
-- reader drops what it has from there on, and reads it again.
--
-- What a reader has confirmed is in the database, and so is all that lies below it: it was there before the
-- word of it was. So ask before each slice, and confirm each slice in the session that cut it.
--
-- Answers: continue, since p_position; rewind: drop everything from since on, and read from there; unknown:
--   the reader has never confirmed, or was forgotten, and since is p_position, or 0 if the database has not
--   come that far.
create or replace function lonnymq.history_resume(
  p_reader text,
  p_position xid8,
  out answer text,
  out since xid8
)
language plpgsql
stable
as $$
#variable_conflict use_column
declare
  v_confirmed xid8;
begin
  perform lonnymq.guard_text('reader', p_reader);
  perform lonnymq.guard_history();
  if p_position is null then
    raise exception using errcode = 'LM001', message = 'position must be given',
      hint = 'It is ''0'' for a reader that has nothing.';
  end if;
  select r.confirmed into v_confirmed from lonnymq.history_reader r where r.name = p_reader;
  if v_confirmed is null then
    answer := 'unknown';
    since := case when p_position <= pg_snapshot_xmin(lonnymq.history_snapshot()) then p_position
      else '0'::xid8 end;
  elsif v_confirmed < p_position then
    answer := 'rewind';
    since := v_confirmed;
  else
    answer := 'continue';
    since := p_position;
  end if;
end
$$;

comment on function lonnymq.history_resume(text, xid8) is
'Where a reader of history goes on, also after a failover or a restore.';

-- Tells a reader of history where to continue. `p_position` is the position that the reader has reached
-- by its own records. A database that lost the last transactions (a promoted standby, a restored backup)
-- has fewer rows than the reader: the reader then drops the newer rows and reads again.
--
-- All rows below a confirmed position are in the database. Call this function before each slice, and
-- confirm each slice in the session that read the slice.
--
-- Answers: `continue` at `since`, which is `p_position`. `rewind`: drop all rows from `since` on and
--   read again from there. `unknown`: the reader has never confirmed or was removed, and `since` is
--   `p_position`, or 0 if the database has not reached that position.
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
      hint = 'Use ''0'' for a new reader.';
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
'Tells a reader of history where to continue, also after a failover or a restore.';

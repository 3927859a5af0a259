-- Rejects progress that is not between 0 and 1, a note that is too long, and a note without progress.
-- Answers: nothing; raises LM001.
create or replace function lonnymq.guard_progress(
  p_progress real[], p_notes text[], p_length integer
)
returns void
language plpgsql
immutable
as $$
declare
  v_bad record;
begin
  perform lonnymq.guard_aligned('progress', p_progress, p_length);
  perform lonnymq.guard_aligned('notes', p_notes, p_length);
  select i.progress, i.note into v_bad
  from unnest(p_progress, p_notes) as i (progress, note)
  where (i.progress between 0 and 1) is false or octet_length(i.note) > 255
    or (i.progress is null and i.note is not null)
  limit 1;
  if not found then
    return;
  end if;
  raise exception using errcode = 'LM001', message = case
    when v_bad.progress is null then 'a note needs a progress from 0 to 1'
    when v_bad.progress between 0 and 1
      then format('note must be at most 255 bytes long, not %s', octet_length(v_bad.note))
    else format('progress must be from 0 to 1, not %s', v_bad.progress) end;
end
$$;

comment on function lonnymq.guard_progress(real[], text[], integer) is
'Rejects progress that is not between 0 and 1, and notes that are too long.';

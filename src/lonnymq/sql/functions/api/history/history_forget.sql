-- Removes a reader of history that will not come back. The reader no longer prevents old history from
-- being dropped. A reader that confirms again is registered again.
--
-- Answers: `forgotten`, `not_found`.
create or replace function lonnymq.history_forget(p_reader text)
returns text
language plpgsql
as $$
begin
  perform lonnymq.guard_text('reader', p_reader);
  delete from lonnymq.history_reader r where r.name = p_reader;
  return case when found then 'forgotten' else 'not_found' end;
end
$$;

comment on function lonnymq.history_forget(text) is
'Removes a reader of history that will not come back.';

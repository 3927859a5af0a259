-- Forgets a reader of history that will not come back, so that it no longer keeps old history from
-- being dropped. One that does come back and confirms is known again.
-- Answers: forgotten, not_found.
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
'Forgets a reader of history that will not come back.';

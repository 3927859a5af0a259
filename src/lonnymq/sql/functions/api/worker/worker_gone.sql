-- Records that a worker has ended.
--
-- Answers: `gone`, `not_found`.
-- Locks: the row of the worker.
-- Notifies: no.
create or replace function lonnymq.worker_gone(p_name text)
returns text
language plpgsql
as $$
begin
  delete from lonnymq.worker w where w.name = p_name;
  return case when found then 'gone' else 'not_found' end;
end
$$;

comment on function lonnymq.worker_gone(text) is
'Records that a worker has ended.';

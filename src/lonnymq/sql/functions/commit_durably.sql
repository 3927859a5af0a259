-- A dequeue relaxes the commit of its own transaction. Should somebody go on in that transaction and
-- create or settle something, the commit is made durable again: messages and completions are.
create or replace function lonnymq.commit_durably()
returns void
language plpgsql
as $$
begin
  if coalesce(current_setting('lonnymq.relaxed', true), '') <> '' then
    perform set_config('synchronous_commit', current_setting('lonnymq.relaxed', true), true);
  end if;
end
$$;

comment on function lonnymq.commit_durably() is
'Takes back what a dequeue relaxed earlier in this transaction.';

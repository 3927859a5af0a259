-- Lets the commit of this transaction return before it is on disk, and has the server end the
-- session should the transaction be left open: it holds what others need.
-- A second dequeue in one transaction must not take the first one's setting for the caller's.
-- One expression in SQL: it is written into the statement that calls it, and costs no call.
--
-- Answers: true, always.
create or replace function lonnymq.commit_relaxed()
returns boolean
language sql
volatile
as $$
  select case when coalesce(current_setting('lonnymq.relaxed', true), '') = ''
      then set_config('lonnymq.relaxed', current_setting('synchronous_commit'), true) end
      is distinct from ''
    and set_config('synchronous_commit', 'off', true) is not null
    and set_config('idle_in_transaction_session_timeout', '10s', true) is not null
$$;

comment on function lonnymq.commit_relaxed() is
'Lets the commit of this transaction return before the data is on disk.';

-- A dequeue relaxes the commit of its own transaction. Should somebody go on in that transaction and
-- create or settle something, the commit is made durable again: messages and completions are.
--
-- Also gives the transaction its id before its caller reads what the channel's settings are: one that
-- did not see a new capacity, and so leaves no change of what it adds or takes away, is then known to
-- have been running when that capacity was folded in, and is taken account of (recount_after, size_unfolded).
-- One expression in SQL: it is written into the statement that calls it, and costs no call.
--
-- Answers: true, always.
create or replace function lonnymq.commit_durably()
returns boolean
language sql
volatile
as $$
  select pg_current_xact_id() is not null
    and case when current_setting('lonnymq.relaxed', true) <> ''
      then set_config('synchronous_commit', current_setting('lonnymq.relaxed', true), true) end
      is distinct from ''
$$;

comment on function lonnymq.commit_durably() is
'Makes the commit durable again after a dequeue in the same transaction.';

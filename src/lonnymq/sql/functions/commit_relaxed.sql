-- Lets the commit of this transaction return before it is on disk, and has the server end the
-- session should the transaction be left open: it holds what others need.
-- A second dequeue in one transaction must not take the first one's setting for the caller's.
create or replace function lonnymq.commit_relaxed()
returns void
language plpgsql
as $$
begin
  if coalesce(current_setting('lonnymq.relaxed', true), '') = '' then
    perform set_config('lonnymq.relaxed', current_setting('synchronous_commit'), true);
  end if;
  perform set_config('synchronous_commit', 'off', true),
    set_config('idle_in_transaction_session_timeout', '10s', true);
end
$$;

comment on function lonnymq.commit_relaxed() is
'Lets the commit of this transaction return before it is on disk.';

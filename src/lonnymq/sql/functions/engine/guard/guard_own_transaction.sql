-- Rejects a transaction that has written data, or an isolation level in which a second query cannot see
-- newer commits.
-- Answers: nothing. Raises LM003 or LM004.
create or replace function lonnymq.guard_own_transaction(p_function text)
returns void
language plpgsql
as $$
begin
  if pg_current_xact_id_if_assigned() is not null then
    raise exception using errcode = 'LM003',
      message = format('%s must run in a transaction of its own', p_function),
      detail = 'This transaction has already written data.',
      hint = 'Commit first, or use another connection in autocommit mode.';
  end if;
  if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
    raise exception using errcode = 'LM004',
      message = format('%s needs the isolation level read committed, not %s', p_function,
        current_setting('transaction_isolation')),
      hint = 'Start the transaction with: begin isolation level read committed.';
  end if;
end
$$;

comment on function lonnymq.guard_own_transaction(text) is
'Rejects a transaction that has written data.';

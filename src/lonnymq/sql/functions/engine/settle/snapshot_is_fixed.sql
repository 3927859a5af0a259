-- Whether this transaction reads from one snapshot until it ends (repeatable read, serializable). Then it
-- may not see a capacity that was set since, and whoever adds or takes away messages tells of it in any
-- case: a count that nobody keeps does not mind, one that is kept would be off for ever.
-- One expression in SQL: it is written into the statement that calls it, and costs no call.
create or replace function lonnymq.snapshot_is_fixed()
returns boolean
language sql
stable
as $$
  select current_setting('transaction_isolation') <> 'read committed'
$$;

comment on function lonnymq.snapshot_is_fixed() is
'Whether this transaction reads from one snapshot until it ends.';

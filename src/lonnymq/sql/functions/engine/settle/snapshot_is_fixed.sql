-- Whether this transaction reads a single snapshot until it ends (repeatable read, serializable). Such a
-- transaction may not see a new capacity, so every added or removed message is written as a change:
-- without a capacity the change does no harm, and with a capacity the counter would be wrong forever
-- otherwise. PostgreSQL inlines this expression into the calling statement.
create or replace function lonnymq.snapshot_is_fixed()
returns boolean
language sql
stable
as $$
  select current_setting('transaction_isolation') <> 'read committed'
$$;

comment on function lonnymq.snapshot_is_fixed() is
'Whether this transaction reads a single snapshot until the end.';

-- Whether the row of queue was restored: it was written by another transaction, or into another table, than
-- it says itself. Physical copies (standbys, backups, pg_upgrade) keep both, and their transaction ids.
-- One expression in SQL: it is written into the statement that calls it, and costs no call.
create or replace function lonnymq.queue_is_restored(
  p_written_by xid, p_xmin xid, p_table oid, p_tableoid oid
)
returns boolean
language sql
immutable
as $$
  select p_written_by <> p_xmin or coalesce(p_table <> p_tableoid, false)
$$;

comment on function lonnymq.queue_is_restored(xid, xid, oid, oid) is
'Whether the row of queue was restored from a dump, or by logical replication.';

-- Locks: queue, for a moment; calls under way are waited for.
--
-- What history is read by was the transaction's id alone, which means something else in a cluster that the
-- database was restored into. From here on it is a position: the database's generation, then the id.
--   generation   how often the database was restored from a dump or by logical replication
--   written_by   the transaction that wrote this row, and
--   table_oid    the table that it was written into: a row for which they are not true was not written
--                here but restored, and the generation is one more (see queue_generation)

alter table lonnymq.queue
  add column generation integer not null default 0 check (generation between 0 and 500000),
  add column written_by xid not null default pg_current_xact_id()::xid,
  add column table_oid oid;
update lonnymq.queue q set table_oid = q.tableoid;
-- The statement before this one has the same transaction, or the same part of one after a savepoint.
update lonnymq.queue q set written_by = q.xmin;
comment on column lonnymq.queue.generation is
'How often the database was restored from a dump, or by logical replication.';
comment on column lonnymq.history.xid is
'The position: the generation of the database times 2^44, and the transaction''s id.';

-- The database's generation: how often it was restored from a dump or by logical replication. Transaction
-- ids of one generation have nothing to do with those of another.
--
-- That the row was restored is seen at once, before anybody has written anything, and by everybody alike.
-- queue_stamp writes it down later, which changes nothing for those who ask here.
-- A set of one row, so that it is written into the query that asks.
create or replace function lonnymq.queue_generation()
returns setof integer
language sql
stable
rows 1
as $$
  select q.generation
    + lonnymq.queue_is_restored(q.written_by, q.xmin, q.table_oid, q.tableoid)::integer
  from lonnymq.queue q where q.only_row
$$;

comment on function lonnymq.queue_generation() is
'How often the database was restored.';

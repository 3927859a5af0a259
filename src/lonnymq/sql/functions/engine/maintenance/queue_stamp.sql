-- Stores that the database was restored, so that a second restore can be distinguished from the first.
-- The generation is the same before and after. Does nothing while another transaction sets the queue:
-- queue_set does the same.
create or replace function lonnymq.queue_stamp()
returns void
language plpgsql
as $$
begin
  perform from lonnymq.queue q
  where q.only_row and lonnymq.queue_is_restored(q.written_by, q.xmin, q.table_oid, q.tableoid)
  for update skip locked;
  if not found then
    return;
  end if;
  update lonnymq.queue q
  set generation = (select g.number from lonnymq.queue_generation() as g (number)),
    table_oid = q.tableoid
  where q.only_row;
  -- Now xmin is ours, or that of the savepoint we are in, which has no other name.
  update lonnymq.queue q set written_by = q.xmin where q.only_row;
end
$$;

comment on function lonnymq.queue_stamp() is
'Writes down that the database was restored.';

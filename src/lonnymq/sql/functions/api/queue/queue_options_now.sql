-- The settings of the queue as they are now, by the names that queue_set knows.
create or replace function lonnymq.queue_options_now()
returns jsonb
language sql
stable
as $$
  select to_jsonb(q) - 'only_row' from lonnymq.queue q where q.only_row
$$;

comment on function lonnymq.queue_options_now() is
'The settings of the queue as they are now.';

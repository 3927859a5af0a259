-- Returns the present settings of the queue, by the option names of `queue_set`.
create or replace function lonnymq.queue_options_now()
returns jsonb
language sql
stable
as $$
  select to_jsonb(q) - 'only_row' from lonnymq.queue q where q.only_row
$$;

comment on function lonnymq.queue_options_now() is
'Returns the present settings of the queue.';

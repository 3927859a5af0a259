-- Counts what is leased already when the queue is given a limit of its own. Under the fold lock.
create or replace function lonnymq.queue_adopt()
returns void
language plpgsql
as $$
declare
  v_counted bigint;
begin
  perform from lonnymq.queue q where q.only_row and q.max_concurrency is not null;
  if not found then
    return;
  end if;
  v_counted := lonnymq.lease_count(null, 2);
  if v_counted > 0 then
    perform lonnymq.meter_add(0, v_counted, 0);
  end if;
end
$$;

comment on function lonnymq.queue_adopt() is
'Counts what is leased already when the queue is given a limit of its own.';

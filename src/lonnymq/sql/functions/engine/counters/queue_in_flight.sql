-- The leases that count in the queue's own limit, over all parts (queue_limit_split). Null: nothing was ever counted.
create or replace function lonnymq.queue_in_flight()
returns bigint
language sql
stable
as $$
  select sum(m.in_flight)::bigint
  from generate_series(-15, 0) as i (id)
  cross join lateral (
    select m.in_flight from lonnymq.channel_counter m
    where m.channel_id = i.id order by m.version desc limit 1
  ) m
$$;

comment on function lonnymq.queue_in_flight() is
'The leases that count in the limit of the queue.';

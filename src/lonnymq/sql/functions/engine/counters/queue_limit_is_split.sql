-- Whether the queue's own max_concurrency, as it is set now, is split into parts.
create or replace function lonnymq.queue_limit_is_split()
returns boolean
language sql
stable
as $$
  select exists (
    select from lonnymq.queue q
    cross join lateral (
      select m.tat, m.epoch from lonnymq.channel_counter m
      where m.channel_id = 0 order by m.version desc limit 1
    ) m
    where q.only_row and m.tat = q.max_concurrency and m.epoch = q.limit_epoch
  )
$$;

comment on function lonnymq.queue_limit_is_split() is
'Whether the limit of the queue is split into parts.';

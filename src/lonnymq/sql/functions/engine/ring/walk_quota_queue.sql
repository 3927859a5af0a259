-- Brings what a walk may take down to what the queue's own max_concurrency allows. It is counted under
-- the fold lock: whoever does not hold it takes nothing.
create or replace function lonnymq.walk_quota_queue(p_walk lonnymq.walk)
returns lonnymq.walk
language plpgsql
as $$
declare
  v_queue lonnymq.queue;
  v_counter lonnymq.channel_counter;
begin
  if not p_walk.is_folder then
    p_walk.remaining := 0;
    return p_walk;
  end if;
  select * into v_queue from lonnymq.queue q where q.only_row;
  for v_try in 1 .. 2 loop
    select * into v_counter from lonnymq.channel_counter m where m.channel_id = 0 order by m.version desc limit 1;
    exit when coalesce(v_counter.epoch, 0) = v_queue.limit_epoch;
    if v_try = 2 or not lonnymq.limit_begin('{0}') then
      p_walk.remaining := 0;
      p_walk.is_contended := true;
      return p_walk;
    end if;
  end loop;
  p_walk.remaining := greatest(0,
    least(p_walk.remaining, v_queue.max_concurrency - coalesce(v_counter.in_flight, 0)));
  return p_walk;
end
$$;

comment on function lonnymq.walk_quota_queue(lonnymq.walk) is
'Reduces the number of messages of a walk to the limit of the queue.';

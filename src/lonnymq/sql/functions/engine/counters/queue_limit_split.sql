-- Splits the queue's own max_concurrency into up to 16 parts: counters 0 to -15. A dequeue locks a part and takes slots
-- from there, so dequeues do not wait for each other. The free slots of all parts are max_concurrency less the leases in
-- flight. If more are in flight than allowed, part 0 has less than no slot, and the others have none. The caller holds
-- the fold lock. Begins to count if the limit is a first one (limit_begin).
--
-- Answers: whether the limit is split now. Not if a dequeue holds a part, or may not know the limit.
create or replace function lonnymq.queue_limit_split()
returns boolean
language plpgsql
as $$
declare
  c_parts constant integer := 16;
  v_queue lonnymq.queue;
  v_in_flight bigint;
  v_parts integer;
  v_free bigint;
begin
  select * into v_queue from lonnymq.queue q where q.only_row;
  if v_queue.max_concurrency is null
    or cardinality(lonnymq.channel_counter_lock(array(select -i from generate_series(0, c_parts - 1) as i))) < c_parts
  then
    return false;
  end if;
  if v_queue.limit_epoch <> coalesce((
      select m.epoch from lonnymq.channel_counter m where m.channel_id = 0 order by m.version desc limit 1
    ), 0) and not lonnymq.limit_begin('{0}')
  then
    return false;
  end if;
  v_in_flight := coalesce(lonnymq.queue_in_flight(), 0);
  v_parts := least(c_parts, v_queue.max_concurrency);
  v_free := v_queue.max_concurrency - v_in_flight;
  insert into lonnymq.channel_counter (channel_id, version)
  select -i, 1 from generate_series(0, c_parts - 1) as i
  where (select n.channel_id from lonnymq.channel_counter n where n.channel_id = -i limit 1) is null;
  update lonnymq.channel_counter m
  set version = m.version + 1, tat = v_queue.max_concurrency, epoch = v_queue.limit_epoch,
    in_flight = case p.i when 0 then v_in_flight else 0 end,
    size = case p.i when 0 then v_in_flight else 0 end + case
      when v_free <= 0 then case p.i when 0 then v_free else 0 end
      when p.i < v_parts then v_free / v_parts + (p.i < v_free % v_parts)::integer
      else 0 end
  from (
    select i, n.tid
    from generate_series(0, c_parts - 1) as i
    cross join lateral (
      select n.ctid as tid from lonnymq.channel_counter n
      where n.channel_id = -i order by n.version desc limit 1
    ) n
  ) p
  where m.ctid = p.tid;
  return true;
end
$$;

comment on function lonnymq.queue_limit_split() is
'Splits the limit of the queue into parts, so that dequeues do not wait for each other.';

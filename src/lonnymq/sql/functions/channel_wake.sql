-- Gives a seat to channels whose time has come: a message is due, or a rate allows the next.
-- Answers: how many.
create or replace function lonnymq.channel_wake(p_now bigint, p_limit integer)
returns integer
language plpgsql
as $$
declare
  v_names text[];
begin
  select array_agg(d.name) into v_names
  from (
    select c.name from lonnymq.channel c
    where c.wake_at <= p_now
    order by c.wake_at
    limit p_limit
    for update skip locked
  ) d;
  if v_names is null then
    return 0;
  end if;
  with seated as materialized (
    select r.name, nextval('lonnymq.seat_seq') as seat
    from (
      select c.name from lonnymq.channel c
      where c.name = any (v_names) and c.wake_at <= p_now
      order by c.wake_at, random()
    ) r
  )
  update lonnymq.channel c
  set seat = s.seat, wake_at = null, hold = null, idle_at = null
  from seated s
  where c.name = s.name;
  return cardinality(v_names);
end
$$;

comment on function lonnymq.channel_wake(bigint, integer) is
'Gives a seat to channels whose time has come.';

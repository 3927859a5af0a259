-- Gives channels with limits a counter if they have none.
-- Answers: whether a channel got one.
-- Locks: these channels, without waiting. A channel that another call holds gets no counter now.
create or replace function lonnymq.channel_counter_ensure(p_ids bigint[])
returns boolean
language plpgsql
as $$
declare
  v_ids bigint[];
begin
  select array_agg(l.id) into v_ids
  from (
    select c.id from lonnymq.channel c
    where c.id = any (p_ids)
      and (select n.channel_id from lonnymq.channel_counter n where n.channel_id = c.id limit 1) is null
    order by c.id
    for update skip locked
  ) l;
  if v_ids is null then
    return false;
  end if;
  -- Lock first, look after.
  insert into lonnymq.channel_counter (channel_id, version)
  select i.id, 1 from unnest(v_ids) as i (id)
  where (select n.channel_id from lonnymq.channel_counter n where n.channel_id = i.id limit 1) is null;
  return found;
end
$$;

comment on function lonnymq.channel_counter_ensure(bigint[]) is
'Gives channels with limits a counter if they have none.';

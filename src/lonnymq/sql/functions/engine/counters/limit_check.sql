-- Looks after leases that were taken before there was a limit to count them in (uncounted): of those that
-- have ended the slots are free again. Nobody tells of it, so it is looked at with every fold; of more than
-- 1,000 a thousand at a time, from a random one on.
create or replace function lonnymq.limit_check()
returns void
language plpgsql
as $$
declare
  v_from bigint;
begin
  select u.message_id into v_from from lonnymq.early_lease u
  order by u.channel_id, u.message_id offset floor(random() * 1000) limit 1;
  with ended as (
    delete from lonnymq.early_lease u
    where (u.channel_id, u.message_id) in (
      select l.channel_id, l.message_id
      from (
        (select * from lonnymq.early_lease u order by u.channel_id, u.message_id limit 1000)
        union
        (select * from lonnymq.early_lease u where u.message_id >= v_from limit 1000)
      ) l
      where (
        select m.id from lonnymq.message m where m.id = l.message_id and m.token = l.token limit 1
      ) is null
    )
    returning u.channel_id
  )
  insert into lonnymq.change (channel, slots, queue_slots)
  select coalesce(c.name, ''), case when e.channel_id = 0 then 0 else count(*) end,
    case when e.channel_id = 0 then count(*) else 0 end
  from ended e
  left join lonnymq.channel c on c.id = e.channel_id
  where e.channel_id = 0 or c.id is not null
  group by e.channel_id, c.name;
end
$$;

comment on function lonnymq.limit_check() is
'Looks after leases that were taken before there was a limit to count them in.';

-- Checks leases that were taken before the first limit (early_lease). An ended lease frees its slot. No
-- change reports the end of these leases, so every fold checks them: at most 1,000, from a random lease
-- on.
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
'Checks leases that were taken before the first limit.';

-- Checks leases that were taken before the first limit (early_lease). An ended lease frees its slot. No
-- change reports the end of these leases, so every fold checks them: the first p_limit, and as many from a
-- random lease on. A dequeue checks all of them before it answers `empty`: without a limit.
create or replace function lonnymq.limit_check(p_limit integer)
returns void
language plpgsql
as $$
declare
  v_from bigint;
  v_tids tid[];
begin
  select u.message_id into v_from from lonnymq.early_lease u
  order by u.channel_id, u.message_id offset floor(random() * p_limit) limit 1;
  select array_agg(l.tid) into v_tids
  from (
    (
      select u.ctid as tid, u.* from lonnymq.early_lease u
      order by u.channel_id, u.message_id limit p_limit
    )
    union
    (select u.ctid, u.* from lonnymq.early_lease u where u.message_id >= v_from limit p_limit)
  ) l
  where (
    select m.id from lonnymq.message m where m.id = l.message_id and m.token = l.token limit 1
  ) is null;
  with ended as (
    delete from lonnymq.early_lease u where u.ctid = any (v_tids) returning u.channel_id
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

comment on function lonnymq.limit_check(integer) is
'Checks leases that were taken before the first limit.';

-- Checks leases that ran out while a transaction was settling the message, and messages with a priority that were held
-- when their time came. After a rollback, a change
-- makes the fold check the lease at once. The lease may be valid again by then, because a clock was set
-- back or by a heartbeat: the check finds that too. The folder calls this function.
-- Answers: whether there are any.
create or replace function lonnymq.lease_unlocked(p_now bigint)
returns boolean
language plpgsql
as $$
declare
  v_tids tid[];
begin
  if not exists (select from lonnymq.lease l where l.is_settling and l.due_at > 0) then
    return false;
  end if;
  select array_agg(l.ctid) into v_tids
  from (
    select l.ctid, l.message_ids from lonnymq.lease l where l.is_settling and l.due_at > 0
    limit 100
    for update skip locked
  ) l
  where exists (
    select from unnest(l.message_ids[1:1000]) as i (id)
    cross join lateral (
      select from lonnymq.message m
      where m.id = i.id and (m.token is not null or m.priority > 0)
      for update skip locked
    ) m
  );
  if v_tids is null then
    return false;
  end if;
  with freed as (
    delete from lonnymq.lease l where l.ctid = any (v_tids) returning l.message_ids
  )
  insert into lonnymq.change (channel, lease_until, message_ids)
  select '', p_now, f.message_ids from freed f;
  return true;
end
$$;

comment on function lonnymq.lease_unlocked(bigint) is
'Checks leases that ran out while a transaction was settling the message.';

-- The messages that are leased, and some that were: every lease is in lease or in a change, so the cost
-- depends on the leased messages, not on the waiting messages.
create or replace function lonnymq.lease_ids()
returns table (id bigint)
language sql
stable
as $$
  select distinct i.id
  from (
    select l.message_ids from lonnymq.lease l
    union all
    select n.message_ids from lonnymq.change n
    where n.can_wait = any ('{false,true}') and n.message_ids is not null
  ) l
  cross join unnest(l.message_ids) as i (id)
$$;

comment on function lonnymq.lease_ids() is
'The messages that are leased, and some that were.';

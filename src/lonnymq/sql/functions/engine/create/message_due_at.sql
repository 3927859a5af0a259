-- When a message became due, or will be, from where it stands: the other way round than message_rank.
create or replace function lonnymq.message_due_at(p_rank bigint, p_priority integer)
returns bigint
language sql
immutable
as $$
  select case when p_priority > 0 and p_rank <= -5000000000000
    then p_rank + p_priority * 10000000000000 else p_rank end
$$;

comment on function lonnymq.message_due_at(bigint, integer) is
'When a message became due, from where it stands in its channel.';

-- Locks the dead messages that are meant, oldest id first, and says which they are.
-- Its callers have it planned for what is given: an absent filter leaves no trace in the plan.
create or replace function lonnymq.dead_pick(
  p_ids bigint[], p_channel text, p_kind text, p_limit integer
)
returns bigint[]
language plpgsql
as $$
begin
  return array(
    select d.id from lonnymq.dead d
    where (p_ids is null or d.id = any (p_ids))
      and (p_channel is null or p_channel = '*' or d.channel = p_channel)
      and (p_kind is null or d.kind = p_kind)
    order by d.id
    limit p_limit
    for update skip locked
  );
end
$$;

comment on function lonnymq.dead_pick(bigint[], text, text, integer) is
'Locks the dead messages that are meant, and says which they are.';

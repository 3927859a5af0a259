-- Counts members that have just ended, and ends those groups whose last member was among them.
-- Locks: see group_is_over and group_end. Groups are looked at in the order of their ids.
create or replace function lonnymq.group_count(p_groups bigint[], p_outcome text)
returns void
language plpgsql
as $$
declare
  v_group bigint;
begin
  if cardinality(p_groups) = 1 then
    insert into lonnymq.group_tally (group_id, completed, dead, cancelled)
    values (p_groups[1], (p_outcome = 'completed')::integer, (p_outcome = 'dead')::integer,
      (p_outcome = 'cancelled')::integer);
    if lonnymq.group_is_over(p_groups[1]) then
      perform lonnymq.group_end(p_groups[1]);
    end if;
    return;
  end if;
  insert into lonnymq.group_tally (group_id, completed, dead, cancelled)
  select g.id, count(*) filter (where p_outcome = 'completed'), count(*) filter (where p_outcome = 'dead'),
    count(*) filter (where p_outcome = 'cancelled')
  from unnest(p_groups) as g (id)
  group by g.id;
  for v_group in select distinct g.id from unnest(p_groups) as g (id) order by g.id loop
    if lonnymq.group_is_over(v_group) then
      perform lonnymq.group_end(v_group);
    end if;
  end loop;
end
$$;

comment on function lonnymq.group_count(bigint[], text) is
'Counts members that have ended, and ends groups without members.';

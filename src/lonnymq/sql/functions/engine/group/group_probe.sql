-- Looks for members of a group by their locks, for group_is_over: a row may be alive although somebody has locked or
-- deleted it before. The caller lets go of the locks.
-- Answers: alive, ending (all that are left are just being ended by others), over (none is left). And the member that
--   was found, for group_alive.
create or replace function lonnymq.group_probe(p_group bigint, out state text, out witness text)
language plpgsql
as $$
declare
  v_id bigint;
begin
  select m.id into v_id
  from (
    select m.id from lonnymq.message m
    where m.group_id = p_group order by m.group_id desc, m.id desc limit 64
  ) m
  order by m.id % 64 = pg_backend_pid() % 64 desc
  limit 1;
  perform from lonnymq.message m where m.id = v_id for key share skip locked;
  if not found then
    select m.id into v_id from lonnymq.message m
    where m.group_id = p_group limit 1 for key share skip locked;
  end if;
  if found then
    state := 'alive';
    select m.id || ' ' || m.xmax into witness from lonnymq.message m where m.id = v_id;
    return;
  end if;
  perform from lonnymq.message_group g
  where g.id = p_group and not g.sealed for share skip locked;
  state := case when found then 'alive' end;
  perform from lonnymq.group_pending p where p.group_id = p_group limit 1 for key share skip locked;
  state := case
    when found then 'alive'
    when state is not null then state
    when exists (select from lonnymq.message m where m.group_id = p_group)
      or exists (select from lonnymq.message_group g where g.id = p_group and not g.sealed)
      or exists (select from lonnymq.group_pending p where p.group_id = p_group) then 'ending'
    else 'over'
  end;
end
$$;

comment on function lonnymq.group_probe(bigint) is
'Looks for members of a group by their locks.';

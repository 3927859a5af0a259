-- Whether a group has a member that nobody is about to end. Whoever ends that member looks at the group later than the
-- caller has ended its own members, and so sees that these are gone or going. The group itself is a member until it is
-- sealed.
--
-- A row that no transaction has ever locked or deleted says so by its xmax. A message that was leased does not: its
-- row names the transaction of the lease. But the xmax that was there when group_probe found the row to be free says
-- so for as long as it stays the same. So the session remembers the last member that it found, the witness, as its
-- id and its xmax, and most settlements read one row. Sessions choose different members, because a probe changes xmax.
create or replace function lonnymq.group_alive(p_group bigint)
returns boolean
language plpgsql
as $$
declare
  v_witness text := nullif(current_setting('lonnymq.witness', true), '');
begin
  if exists (
    select from lonnymq.message m
    where m.id = split_part(v_witness, ' ', 1)::bigint and m.group_id = p_group
      and m.xmax::text = split_part(v_witness, ' ', 2)
  ) or exists (
    select from lonnymq.message_group g where g.id = p_group and not g.sealed and g.xmax = '0'
  ) then
    return true;
  end if;
  select m.id || ' 0' into v_witness
  from (
    select m.id, m.xmax as locker from lonnymq.message m
    where m.group_id = p_group order by m.group_id desc, m.id desc limit 64
  ) m
  where m.locker = '0'
  order by m.id % 64 = pg_backend_pid() % 64 desc
  limit 1;
  if found then
    perform set_config('lonnymq.witness', v_witness, false);
    return true;
  end if;
  return exists (select from lonnymq.group_pending p where p.group_id = p_group and p.xmax = '0');
end
$$;

comment on function lonnymq.group_alive(bigint) is
'Whether a group has a member that nobody is about to end.';

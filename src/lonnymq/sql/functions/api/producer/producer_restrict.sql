-- Confines a role, and those who are members of it, to some channels: those that are named, and those whose
-- names begin with one of the prefixes. What was said of the role before is replaced; with neither it may
-- use none. Holds for calls that begin after the commit.
-- A queue without roles has nobody to restrict: its functions run with the rights of who calls them.
-- Roles are known by name: one that is renamed is another one, and free.
--
-- Answers: restricted; unchanged.
-- Locks: the row of the role.
-- Notifies: no.
create or replace function lonnymq.producer_restrict(
  p_role text, p_channels text[] default '{}', p_prefixes text[] default '{}'
)
returns text
language plpgsql
as $$
declare
  v_text text;
begin
  if not exists (select from pg_catalog.pg_roles r where r.rolname = p_role) then
    raise exception using errcode = 'LM001', message = format('there is no role %L', p_role);
  end if;
  if p_channels is null or p_prefixes is null then
    raise exception using errcode = 'LM001', message = 'channels and prefixes must be arrays',
      hint = 'None of them is an empty array.';
  end if;
  foreach v_text in array p_channels loop
    perform lonnymq.guard_text('channel', v_text);
  end loop;
  foreach v_text in array p_prefixes loop
    perform lonnymq.guard_text('prefix', v_text);
  end loop;
  if not (select i.roles from lonnymq.installed i) then
    raise exception using errcode = 'LM001', message = 'this queue has no roles',
      hint = 'Install them: lonnymq install --roles.';
  end if;
  insert into lonnymq.producer_restriction as c (role, channels, prefixes) values (p_role, p_channels, p_prefixes)
  on conflict (role) do update set channels = excluded.channels, prefixes = excluded.prefixes
  where (c.channels, c.prefixes) is distinct from (excluded.channels, excluded.prefixes);
  return case when found then 'restricted' else 'unchanged' end;
end
$$;

comment on function lonnymq.producer_restrict(text, text[], text[]) is
'Confines a role to some channels.';

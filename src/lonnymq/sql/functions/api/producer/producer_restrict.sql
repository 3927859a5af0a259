-- Restricts a role and the members of the role to some channels: the named channels, and the channels
-- whose names begin with a given prefix. A new restriction replaces the old restriction. With no
-- channels and no prefixes, the role may use no channel. The restriction applies to calls that begin
-- after the commit.
--
-- The queue must be installed with roles. The restriction is stored under the name of the role: if you
-- rename a role, the restriction does not follow.
--
-- Answers: `restricted`, `unchanged`.
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
      hint = 'Use an empty array for none.';
  end if;
  foreach v_text in array p_channels loop
    perform lonnymq.guard_text('channel', v_text);
  end loop;
  foreach v_text in array p_prefixes loop
    perform lonnymq.guard_text('prefix', v_text);
  end loop;
  if not (select i.roles from lonnymq.installed i) then
    raise exception using errcode = 'LM001', message = 'this queue has no roles',
      hint = 'Run: lonnymq install --roles.';
  end if;
  insert into lonnymq.producer_restriction as c (role, channels, prefixes) values (p_role, p_channels, p_prefixes)
  on conflict (role) do update set channels = excluded.channels, prefixes = excluded.prefixes
  where (c.channels, c.prefixes) is distinct from (excluded.channels, excluded.prefixes);
  return case when found then 'restricted' else 'unchanged' end;
end
$$;

comment on function lonnymq.producer_restrict(text, text[], text[]) is
'Restricts a role to some channels.';

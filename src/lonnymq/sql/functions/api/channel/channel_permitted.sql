-- Tells whether the connected user may use a channel. Every user may use every channel, except users
-- that you restricted with `producer_restrict`. Both the login and the current role (`set role`) count:
-- `set role` does not lift a restriction. A superuser is never restricted.
--
-- Answers: true or false.
-- Locks: none.
-- Notifies: no.
create or replace function lonnymq.channel_permitted(p_channel text)
returns boolean
language plpgsql
stable
as $$
declare
  v_is_permitted boolean;
begin
  if not exists (select from lonnymq.producer_restriction c) then
    return true;
  end if;
  -- By functions and not by pg_roles: what they look up is kept in memory.
  select bool_and(w.is_permitted) into v_is_permitted
  from (
    select bool_or(p_channel = any (c.channels) or exists (
      select from unnest(c.prefixes) as p (prefix) where starts_with(p_channel, p.prefix)
    )) as is_permitted
    from unnest(array[session_user::text, current_setting('role')]) as w (name)
    cross join lonnymq.producer_restriction c
    where w.name <> 'none' and pg_has_role(w.name, to_regrole(quote_ident(c.role))::oid, 'member')
    group by w.name
  ) w;
  return coalesce(v_is_permitted, true)
    or (select r.rolsuper from pg_catalog.pg_roles r where r.rolname = session_user);
end
$$;

comment on function lonnymq.channel_permitted(text) is
'Tells whether the connected user may use a channel.';

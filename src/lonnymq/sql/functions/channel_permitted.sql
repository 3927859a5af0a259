-- Whether who is connected may use a channel: everybody may, but for those whom producer_confine was told
-- of. Asked are both the login and the role that it has taken on (set role): taking one on frees nobody.
-- A superuser is not confined.
--
-- Answers: true or false.
-- Locks: none.
-- Notifies: no.
create or replace function lonnymq.channel_permitted(p_channel text)
returns boolean
language plpgsql
stable
as $$
begin
  if not exists (select from lonnymq.confined c) then
    return true;
  end if;
  return coalesce(bool_and(w.is_permitted), true)
  from (
    select bool_or(p_channel = any (c.channels) or exists (
      select from unnest(c.prefixes) as p (prefix) where starts_with(p_channel, p.prefix)
    )) as is_permitted
    from unnest(array[session_user::text, current_setting('role')]) as w (name)
    join pg_catalog.pg_roles u on u.rolname = w.name and not u.rolsuper
    cross join lonnymq.confined c
    join pg_catalog.pg_roles r on r.rolname = c.role and pg_has_role(u.oid, r.oid, 'member')
    group by u.oid
  ) w;
end
$$;

comment on function lonnymq.channel_permitted(text) is
'Whether who is connected may use a channel.';

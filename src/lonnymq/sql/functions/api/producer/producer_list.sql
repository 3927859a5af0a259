-- Lists the roles that are restricted to some channels, by name.
--
-- Answers: a row per role. `is_known` is false if the server has no role of that name any more.
-- Locks: none.
-- Notifies: no.
create or replace function lonnymq.producer_list()
returns table (role text, channels text[], prefixes text[], is_known boolean)
language plpgsql
stable
as $$
#variable_conflict use_column
begin
  return query
  select c.role, c.channels, c.prefixes,
    exists (select from pg_catalog.pg_roles r where r.rolname = c.role)
  from lonnymq.producer_restriction c
  order by c.role;
end
$$;

comment on function lonnymq.producer_list() is
'Lists the roles that are restricted to some channels.';

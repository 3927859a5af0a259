-- The key of an advisory lock of a group. Two groups with the same key would only wait for each other.
create or replace function lonnymq.group_lock_key(p_group bigint, p_purpose text)
returns bigint
language sql
immutable
as $$
  select hashtextextended('lonnymq' || '.group.' || p_purpose || '.' || p_group::text, 0)
$$;

comment on function lonnymq.group_lock_key(bigint, text) is
'The key of an advisory lock of a group.';

-- Whether somebody asks for one of these kinds. No kinds at all are messages without a kind.
create or replace function lonnymq.kind_is_asked(p_kinds text[])
returns boolean
language sql
stable
as $$
  select exists (
    select from lonnymq.kind_filter f
    where f.kinds && array(
      select distinct coalesce(k.kind, '') from unnest(coalesce(p_kinds, '{null}')) as k (kind)))
$$;

comment on function lonnymq.kind_is_asked(text[]) is
'Whether somebody asks for one of these kinds.';

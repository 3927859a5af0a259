-- Makes a filter, under the fold lock. A queue has at most 64: the filter that was not used for the longest time makes
-- room, unless it was used within two minutes.
-- Answers: the filter, whose ring is yet to be built. Raises LM001 if all are in use.
create or replace function lonnymq.kind_filter_add(p_kinds text[], p_now bigint)
returns lonnymq.kind_filter
language plpgsql
as $$
declare
  v_filter lonnymq.kind_filter;
  v_unused bigint;
begin
  if (select count(*) from lonnymq.kind_filter) >= 64 then
    select f.id into v_unused from lonnymq.kind_filter f
    where f.used_at < p_now - 120000 order by f.used_at limit 1;
    if v_unused is null then
      raise exception using errcode = 'LM001',
        message = 'kinds: 64 different lists of kinds are in use, no more are allowed',
        hint = 'Let consumers ask for the same list of kinds, or for all kinds.';
    end if;
    perform lonnymq.kind_filter_drop(array[v_unused]);
  end if;
  insert into lonnymq.kind_filter (hash, kinds, used_at)
  values (md5(p_kinds::text)::uuid, p_kinds, p_now)
  returning * into v_filter;
  return v_filter;
end
$$;

comment on function lonnymq.kind_filter_add(text[], bigint) is
'Makes a filter, whose ring is yet to be built.';

-- Lists the audit log, newest entry first. `p_before` lists the entries below that number, `p_subject`
-- the entries of one subject.
create or replace function lonnymq.audit_list(
  p_subject text default null, p_before bigint default null, p_limit integer default 50
)
returns table (
  id bigint, at bigint, who text, db_user text, action text, subject text, parameters jsonb,
  answer jsonb
)
language plpgsql
stable
set plan_cache_mode = force_custom_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
#variable_conflict use_column
begin
  perform lonnymq.guard_range('limit', p_limit, 1, 1000);
  return query
  select a.id, a.at, a.who, a.db_user, a.action, a.subject, a.parameters, a.answer
  from lonnymq.audit a
  where (p_subject is null or a.subject = p_subject) and (p_before is null or a.id < p_before)
  order by a.id desc
  limit p_limit;
end
$$;

comment on function lonnymq.audit_list(text, bigint, integer) is
'Lists the audit log, newest entry first.';

-- Rejects a stage that is gone or belongs to another user.
-- Answers: the name of the stage's table. Raises LM010.
create or replace function lonnymq.guard_stage(p_stage bigint)
returns text
language plpgsql
stable
as $$
begin
  if not exists (
    select from lonnymq.stage s
    where s.id = p_stage and (s.made_by = session_user or current_user = session_user)
  ) or to_regclass(format('lonnymq.%I', 'stage_' || p_stage)) is null then
    raise exception using errcode = 'LM010',
      message = format('the rows staged in stage_%s are gone', p_stage),
      hint = 'Run the load again. No row of the load was published.';
  end if;
  return 'stage_' || p_stage;
end
$$;

comment on function lonnymq.guard_stage(bigint) is
'Rejects a stage that is gone or belongs to another user.';

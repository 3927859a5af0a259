-- Records an action of a user in the audit log, in the transaction of the action.
--
-- Answers: the number of the entry.
create or replace function lonnymq.audit_add(
  p_who text, p_action text, p_subject text, p_parameters jsonb, p_answer jsonb
)
returns bigint
language plpgsql
as $$
declare
  v_id bigint;
begin
  perform lonnymq.guard_text('who', p_who);
  perform lonnymq.guard_text('action', p_action);
  perform lonnymq.commit_durably();
  insert into lonnymq.audit (at, who, action, subject, parameters, answer)
  values (lonnymq.epoch(), p_who, p_action, p_subject, coalesce(p_parameters, '{}'),
    coalesce(p_answer, '{}'))
  returning id into v_id;
  return v_id;
end
$$;

comment on function lonnymq.audit_add(text, text, text, jsonb, jsonb) is
'Records an action of a user in the audit log.';

-- Drops stages. Stages that are gone or belong to another user are skipped.
--
-- Answers: the number of dropped stages.
-- Locks: the stages.
-- Notifies: no.
create or replace function lonnymq.stage_drop(p_stages bigint[])
returns bigint
language plpgsql
as $$
declare
  v_stage bigint;
  v_dropped bigint := 0;
begin
  for v_stage in
    delete from lonnymq.stage s
    where s.id = any (p_stages) and (s.made_by = session_user or current_user = session_user)
    returning s.id
  loop
    execute format('drop table if exists lonnymq.%I', 'stage_' || v_stage);
    v_dropped := v_dropped + 1;
  end loop;
  return v_dropped;
end
$$;

comment on function lonnymq.stage_drop(bigint[]) is
'Drops stages.';

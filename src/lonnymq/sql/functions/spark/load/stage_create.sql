-- Makes a table for rows that are to be published together with others: see load_begin. It is filled by
-- COPY, in the transaction that makes it, and is not logged: after a crash of the server it is empty, which
-- stage_take finds out.
--
-- Answers: its number n; the table is stage_n, with the columns of stage_row.
-- Locks: none that anybody could wait for.
-- Notifies: no.
create or replace function lonnymq.stage_create()
returns bigint
language plpgsql
as $$
declare
  v_stage bigint;
begin
  insert into lonnymq.stage (made_at) values (lonnymq.epoch()) returning stage.id into v_stage;
  execute format('create unlogged table lonnymq.%I (like lonnymq.stage_row including storage)',
    'stage_' || v_stage);
  if current_user <> session_user then
    execute format('grant insert, select on lonnymq.%I to %I', 'stage_' || v_stage, session_user);
  end if;
  return v_stage;
end
$$;

comment on function lonnymq.stage_create() is
'Makes a table for rows that are to be published together.';

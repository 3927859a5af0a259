-- Creates a table for rows that will be published together, see `load_begin`. You fill the table with
-- COPY, in the transaction that creates the table. The table is unlogged and empty after a crash of the
-- server. `stage_take` detects an empty table.
--
-- Answers: the number n of the stage. The table is `stage_n`, with the columns of `stage_row`.
-- Locks: only the new table.
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
'Creates a table for rows that will be published together.';

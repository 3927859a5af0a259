-- Creates the message of a schedule now, in addition to the runs. A paused schedule can be run too.
--
-- Answers: `not_found`, or an answer of `message_create` with the id.
-- Locks: as `message_create` does.
-- Notifies: as `message_create` does.
create or replace function lonnymq.schedule_run(p_name text, out answer text, out id bigint)
language plpgsql
as $$
declare
  v_schedule lonnymq.schedule;
begin
  select * into v_schedule from lonnymq.schedule s where s.name = p_name;
  if not found then
    answer := 'not_found';
    return;
  end if;
  select m.answer, m.id into answer, id
  from lonnymq.message_create(v_schedule.channel, v_schedule.content, null, null, null,
    v_schedule.kind,
    lonnymq.schedule_headers(p_name, lonnymq.epoch(), v_schedule.headers)) m;
end
$$;

comment on function lonnymq.schedule_run(text) is
'Creates the message of a schedule now.';

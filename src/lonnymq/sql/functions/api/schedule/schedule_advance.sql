-- Creates the messages of a schedule's runs that have come, and remembers that it did, in one
-- transaction: however many workers come to a run, one of them creates its message. A worker hands in
-- the version that it read; if that is not the present one it is behind, and nothing is done.
-- All runs up to p_upto_at are dealt with by this, those in p_runs by a message each, due at its run
-- and with a key made of the schedule and the run.
--
-- Answers: advanced; behind; paused; not_found; and how many messages were created.
-- Locks: the schedule. Waits for nobody: who finds it locked is behind.
-- Notifies: as message_create does.
create or replace function lonnymq.schedule_advance(
  p_name text,
  p_version bigint,
  p_upto_at bigint,
  p_runs bigint[],
  p_next_at bigint default null,
  out answer text,
  out created integer
)
language plpgsql
as $$
declare
  v_schedule lonnymq.schedule;
  v_run_at bigint;
  v_made record;
begin
  created := 0;
  perform lonnymq.guard_range('number of runs', cardinality(p_runs), 0, 1000);
  perform lonnymq.commit_durably();
  select * into v_schedule from lonnymq.schedule s where s.name = p_name for update skip locked;
  if not found then
    answer := case
      when exists (select from lonnymq.schedule s where s.name = p_name) then 'behind'
      else 'not_found'
    end;
    return;
  end if;
  if v_schedule.version <> p_version or v_schedule.last_run_at > p_upto_at then
    answer := 'behind';
    return;
  end if;
  if v_schedule.paused then
    answer := 'paused';
    return;
  end if;

  foreach v_run_at in array p_runs loop
    select m.answer, m.id into v_made
    from lonnymq.message_create(v_schedule.channel, v_schedule.content, v_run_at, null,
      format('%s %s', p_name, lonnymq.epoch_text(v_run_at)), v_schedule.kind,
      lonnymq.schedule_headers(p_name, v_run_at, v_schedule.headers)) m;
    v_schedule.answer := v_made.answer;
    v_schedule.message_id := v_made.id;
    created := created + (v_made.answer = 'created')::integer;
  end loop;
  update lonnymq.schedule s
  set version = default, last_run_at = p_upto_at, next_at = p_next_at, answer = v_schedule.answer,
    message_id = v_schedule.message_id
  where s.name = p_name;
  answer := 'advanced';
end
$$;

comment on function lonnymq.schedule_advance(text, bigint, bigint, bigint[], bigint) is
'Creates the messages of a schedule''s runs that have come, each once.';

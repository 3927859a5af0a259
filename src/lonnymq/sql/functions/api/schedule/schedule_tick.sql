-- Creates the messages of a schedule's checkpoints that have come, and remembers that it did, in one
-- transaction: however many workers come to a checkpoint, one of them creates its message. A worker hands in
-- the version that it read; if that is not the present one it is behind, and nothing is done.
-- All checkpoints up to p_upto_at are dealt with by this, those in p_ticks by a message each, due at its checkpoint
-- and named for it.
--
-- Answers: ticked; behind; paused; not_found; and how many messages were created.
-- Locks: the schedule. Waits for nobody: who finds it locked is behind.
-- Notifies: as message_create does.
create or replace function lonnymq.schedule_tick(
  p_name text,
  p_version bigint,
  p_upto_at bigint,
  p_ticks bigint[],
  p_next_at bigint default null,
  out answer text,
  out created integer
)
language plpgsql
as $$
declare
  v_schedule lonnymq.schedule;
  v_tick_at bigint;
  v_made record;
begin
  created := 0;
  perform lonnymq.guard_range('number of ticks', cardinality(p_ticks), 0, 1000);
  perform lonnymq.commit_durably();
  select * into v_schedule from lonnymq.schedule s where s.name = p_name for update skip locked;
  if not found then
    answer := case
      when exists (select from lonnymq.schedule s where s.name = p_name) then 'behind'
      else 'not_found'
    end;
    return;
  end if;
  if v_schedule.version <> p_version or v_schedule.tick_at > p_upto_at then
    answer := 'behind';
    return;
  end if;
  if v_schedule.paused then
    answer := 'paused';
    return;
  end if;

  foreach v_tick_at in array p_ticks loop
    select m.answer, m.id into v_made
    from lonnymq.message_create(v_schedule.channel, v_schedule.content, v_tick_at, null,
      format('%s %s', p_name, lonnymq.epoch_text(v_tick_at)), v_schedule.kind,
      lonnymq.schedule_headers(p_name, v_tick_at, v_schedule.headers)) m;
    v_schedule.answer := v_made.answer;
    v_schedule.message_id := v_made.id;
    created := created + (v_made.answer = 'created')::integer;
  end loop;
  update lonnymq.schedule s
  set version = default, tick_at = p_upto_at, next_at = p_next_at, answer = v_schedule.answer,
    message_id = v_schedule.message_id
  where s.name = p_name;
  answer := 'ticked';
end
$$;

comment on function lonnymq.schedule_tick(text, bigint, bigint, bigint[], bigint) is
'Creates the messages of a schedule''s ticks that have come, each once.';

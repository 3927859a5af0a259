-- What became of a message that is not live: see message_explain.
-- Answers: dead, or not_found.
create or replace function lonnymq.dead_explain(
  p_id bigint, out answer text, out explanation text, out fields jsonb
)
language plpgsql
stable
as $$
declare
  v_dead lonnymq.dead;
begin
  select * into v_dead from lonnymq.dead d where d.id = p_id;
  if not found then
    answer := 'not_found';
    explanation := format('There is no message %s. The message has ended or never existed.', p_id);
    fields := jsonb_build_object('id', p_id);
    return;
  end if;
  answer := 'dead';
  explanation := format('The message died at %s after %s attempts: %s', lonnymq.epoch_text(v_dead.died_at),
    v_dead.attempt, coalesce(v_dead.error, 'no error was given.'));
  fields := jsonb_build_object('id', p_id, 'channel', v_dead.channel, 'attempt', v_dead.attempt,
    'died_at', v_dead.died_at, 'error', v_dead.error);
end
$$;

comment on function lonnymq.dead_explain(bigint) is
'Explains the state of a message that is not live.';

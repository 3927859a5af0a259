-- Explains why a message is not running: as a word, as a sentence and as fields.
--
-- Answers: `not_found`, `dead`, `leased`, `lapsed`, `scheduled`, `new` (the message is committed, and no
--   dequeue has run since), `paused`, `unserved` (no active worker takes the kind), `throttled`, `saturated`, `queue_saturated`, `behind` (other
--   messages of the channel come first), `next`.
create or replace function lonnymq.message_explain(
  p_id bigint, out answer text, out explanation text, out fields jsonb
)
language plpgsql
stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_now bigint := lonnymq.epoch();
  v_message lonnymq.message;
  v_channel lonnymq.channel;
  v_place lonnymq.channel_position;
  v_policy record;
  v_queue record;
  v_ahead bigint;
  v_in_flight bigint;
begin
  select * into v_message from lonnymq.message m where m.id = p_id;
  if not found then
    select * into answer, explanation, fields from lonnymq.dead_explain(p_id);
    return;
  end if;

  select * into v_channel from lonnymq.channel c where c.name = v_message.channel;
  select * into v_place from lonnymq.channel_position_now(v_channel.id);
  select * into v_policy from lonnymq.channel_policy(v_message.channel);
  v_policy.max_attempts := coalesce(v_message.max_attempts, v_policy.max_attempts);
  select q.max_concurrency, coalesce(lonnymq.queue_in_flight(), 0) as in_flight
  into v_queue from lonnymq.queue q where q.only_row;
  v_in_flight := coalesce((select m.in_flight from lonnymq.channel_counter m
    where m.channel_id = v_channel.id order by m.version desc limit 1), 0);
  select count(*) into v_ahead from (
    select from lonnymq.message m
    where m.channel = v_message.channel and m.token is null
      and (m.dequeue_at, m.id) < (v_message.dequeue_at, v_message.id)
    limit 10000
  ) a;
  fields := jsonb_strip_nulls(jsonb_build_object(
    'id', p_id, 'channel', v_message.channel, 'kind', v_message.kind, 'attempt', v_message.attempt,
    'max_attempts', v_policy.max_attempts, 'priority', v_message.priority,
    'dequeue_at', lonnymq.message_due_at(v_message.dequeue_at, v_message.priority),
    'expires_at', v_message.expires_at, 'now_at', v_now,
    'ahead', v_ahead, 'worker', v_message.worker, 'lease_until', v_message.lease_until,
    'in_flight', case when v_policy.max_concurrency is not null then v_in_flight end,
    'max_concurrency', v_policy.max_concurrency,
    'queue_in_flight', case when v_queue.max_concurrency is not null then v_queue.in_flight end,
    'queue_max_concurrency', v_queue.max_concurrency, 'wake_at', v_place.wake_at,
    'paused', v_policy.paused, 'retiring', v_policy.retiring, 'error', v_message.error,
    'group_id', v_message.group_id));
  answer := case
    when v_message.token is not null then 'leased'
    when v_message.expires_at <= v_now then 'lapsed'
    when v_message.dequeue_at > v_now then 'scheduled'
    when v_policy.paused then 'paused'
    -- Without any worker that reports nobody knows who takes what.
    when lonnymq.kind_workers(coalesce(v_message.kind, ''), v_now) = 0 and exists (
      select from lonnymq.worker w where w.name > '' and w.seen_at + 3 * w.interval_ms >= v_now and not w.stopping
    ) then 'unserved'
    when v_channel.name is null or exists (
      select from lonnymq.change n where n.channel = v_message.channel and not n.can_wait
        and (n.rescan or (n.dequeue_at, n.message_id) <= (v_message.dequeue_at, v_message.id))
    ) then 'new'
    when v_place.hold is not null then v_place.hold
    when v_queue.in_flight >= v_queue.max_concurrency then 'queue_saturated'
    when v_ahead > 0 then 'behind'
    else 'next'
  end;
  explanation := case answer
    when 'leased' then format('The message is leased by %s until %s, attempt %s of %s.',
      coalesce(v_message.worker, 'an unnamed worker'),
      lonnymq.epoch_text(v_message.lease_until), v_message.attempt, v_policy.max_attempts)
    when 'scheduled' then format('The message is scheduled for %s%s.',
      lonnymq.epoch_text(v_message.dequeue_at),
      case when v_message.attempt > 0 then format(', after attempt %s of %s failed',
        v_message.attempt, v_policy.max_attempts) else '' end)
    when 'lapsed' then format('The message expired at %s and will not run.',
      lonnymq.epoch_text(v_message.expires_at))
    when 'paused' then 'The channel is paused.'
    when 'unserved' then format('No worker serves %s.',
      coalesce('kind ' || v_message.kind, 'messages without a kind'))
    when 'new' then 'The message is new. No dequeue has read the channel since the commit.'
    when 'saturated' then format('The channel is at its limit: %s of %s messages are running.', v_in_flight,
      v_policy.max_concurrency)
    when 'throttled' then format('The channel is throttled until %s.',
      lonnymq.epoch_text(v_place.wake_at))
    when 'queue_saturated' then format('The queue is at its limit: %s of %s messages are running.',
      v_queue.in_flight, v_queue.max_concurrency)
    when 'behind' then 'The channel waits for its turn.'
    else 'The message is the next of its channel. The channel waits for its turn.'
  end || case when v_ahead > 0 and v_message.token is null then format(
    ' Messages of the channel that come first: %s.', case when v_ahead >= 10000 then '10000 or more'
      else v_ahead::text end) else '' end || case when v_policy.retiring
    then ' The channel is being retired and takes no new messages.' else '' end
    || coalesce(' The message is in group ' || v_message.group_id || '.', '');
end
$$;

comment on function lonnymq.message_explain(bigint) is
'Explains why a message is not running.';

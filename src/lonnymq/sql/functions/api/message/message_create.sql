-- Creates a message in a channel, in the transaction of the caller.
--
-- `p_options` is an object with `expires_at`, `max_attempts`, `priority`, `unique_for_ms`, `when_duplicate` and `max_delay_ms`. From `expires_at` on, a message that waits is
-- not handed out any more, and history says `lapsed`. `max_attempts` counts instead of the limit of the channel and of the
-- handler. `priority` is from 0 to 1000: among the due messages of a channel, a higher priority comes first. Between
-- channels a priority changes nothing.
--
-- A key is unique among the live messages of a channel. With `unique_for_ms`, the key also stays taken for this time after
-- the create, whatever becomes of the message. `when_duplicate` is what happens if the key is taken. `keep`, the default,
-- changes nothing. `replace` gives the message that waits the new content, kind, headers, `expires_at` and `max_attempts`.
-- `postpone` also gives the message the new time and priority: with a delay in every create, the message runs when no
-- create came for that time, at the latest `max_delay_ms` after the first create. A message that runs or has ended stays as
-- it is. `refuse` raises LM011.
--
-- Answers: `created` with the id, `duplicate`, `replaced` or `postponed` with the id of the message that has the same key,
--   `dropped` or `rejected` with the reason `full` or `retiring`. For a channel with a capacity, the
--   answer includes the size: all committed messages and the messages of this transaction. Messages that
--   other transactions have not committed yet may exceed the capacity.
-- Locks: none, except that an equal key is waited for, and for `replace` and `postpone` the message that has the key.
-- Notifies: if the channel has no message that is due or scheduled earlier.
create or replace function lonnymq.message_create(
  p_channel text,
  p_content bytea,
  p_dequeue_at bigint default null,
  p_delay_ms bigint default null,
  p_key text default null,
  p_kind text default null,
  p_headers jsonb default null,
  p_options jsonb default null,
  out answer text,
  out id bigint,
  out reason text,
  out size bigint,
  out max_size bigint
)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_dequeue_at bigint;
  v_channel_id bigint;
  v_max_size bigint;
  v_seat bigint;
  v_hold text;
  v_wake_at bigint;
  v_is_ahead boolean;
  v_is_fresh boolean := not lonnymq.snapshot_is_fixed();
  v_told boolean;
begin
  if p_channel is null or octet_length(p_channel) not between 1 and 255
    or p_content is null or octet_length(p_content) > 67108864
    or octet_length(p_key) not between 1 and 255 or octet_length(p_kind) not between 1 and 255
    or p_delay_ms is not null or p_headers is not null
  then
    perform lonnymq.guard_message(p_channel, p_content, p_dequeue_at, p_delay_ms, p_key, p_kind,
      p_headers);
  end if;
  if current_user <> session_user then
    -- With roles: is anybody restricted?
    perform from lonnymq.producer_restriction c limit 1;
    if found then
      perform lonnymq.guard_channel(p_channel);
    end if;
  end if;
  v_told := lonnymq.commit_durably();

  -- One probe a statement: joined, these four cost twice as much.
  perform from lonnymq.channel_setting s
  where s.name = p_channel and (s.max_size is not null or s.retiring);
  if found or p_key is not null or p_options is not null then
    v_max_size := 0;
  else
    select c.id, c.max_size into v_channel_id, v_max_size
    from lonnymq.channel c where c.name = p_channel;
    if not found then
      select q.default_max_size into v_max_size from lonnymq.queue q where q.only_row;
    end if;
  end if;
  if v_max_size is not null then
    -- A key, a capacity, a channel that is being retired, or an option.
    select a.answer, a.id, a.reason, a.size, a.max_size
    into answer, id, reason, size, max_size
    from lonnymq.message_create_one(p_channel, p_content, lonnymq.message_due(p_dequeue_at, p_delay_ms,
      lonnymq.epoch(), lonnymq.epoch(now())), p_key, p_kind, p_headers,
      lonnymq.message_option_read(p_options, p_dequeue_at, p_key)) a;
    return;
  end if;

  answer := 'created';
  id := nextval('lonnymq.message_id_seq');
  v_dequeue_at := lonnymq.message_due(p_dequeue_at, p_delay_ms, lonnymq.epoch(), lonnymq.epoch(now()));
  insert into lonnymq.message (id, channel, content, dequeue_at, created_at, kind, headers)
  values (id, p_channel, p_content, v_dequeue_at, lonnymq.epoch(), p_kind, p_headers);
  v_told := true;
  if v_channel_id is not null and v_is_fresh then
    select p.seat, p.hold, p.wake_at,
      (v_dequeue_at, id) >= (coalesce(p.gap_end_at, p.floor_at), coalesce(p.gap_end_id, p.floor_id))
    into v_seat, v_hold, v_wake_at, v_is_ahead
    from lonnymq.channel_position p where p.channel_id = v_channel_id order by p.version desc limit 1;
    v_told := v_seat is null and v_hold is null and (v_wake_at > v_dequeue_at) is not false
      -- Whoever asks for this kind may wait although others find something in the channel.
      or exists (select from lonnymq.kind_filter f where coalesce(p_kind, '') = any (f.kinds));
  end if;
  v_told := v_told and lonnymq.queue_notify();
  -- A change can wait where a dequeue finds the message without it. Only read committed knows that, and
  -- that there is no capacity: an older snapshot may show how the channel was.
  insert into lonnymq.change
    (channel, dequeue_at, message_id, last_at, last_id, size, added, notified, can_wait)
  values (p_channel, v_dequeue_at, id, case when not v_is_ahead then v_dequeue_at end,
    case when not v_is_ahead then id end, case when v_is_fresh then 0 else 1 end,
    case when v_is_fresh then 1 else 0 end, v_told, coalesce(not v_told and v_is_ahead and v_is_fresh,
      false));
end
$$;

comment on function lonnymq.message_create(
  text, bytea, bigint, bigint, text, text, jsonb, jsonb
) is
'Creates a message in a channel.';

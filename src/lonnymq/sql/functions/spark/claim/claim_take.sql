-- Adds messages to a claim, and begins it with the first: leases up to p_limit of them, channel by
-- channel in turn, under every limit, as a dequeue does, and remembers which. One call is one part of the
-- claim. The commit is waited for: a claim outlives a crash.
--
-- The walk is that of message_dequeue, with its cursor, but many rounds are taken at once: each channel
-- gives so many times its weight that the limit is reached. p_channels (names) or p_pattern (a regular
-- expression for the whole name) let the walk visit those channels alone; their turns and their limits
-- are the same. Names cost what was named, a pattern costs a look at every channel that is in the ring.
-- p_last_id and p_last_at leave alone what was created, or became due, after a moment.
-- Once a claim is begun, several calls may add to it at once, each with a cursor of its own.
--
-- Answers: one row: claimed, with the claim's token, how many messages were added, and whether any of them
--   counts in a limit; else empty or contended, as a dequeue. retry_at and cursor are those of a dequeue.
-- Locks: channels that have limits, and messages, without ever waiting for one; then the stream's key; at
--   last the claim, for the number of its next part: a call waits there while another one commits.
-- Notifies: no.
create or replace function lonnymq.claim_take(
  p_stream text,
  p_epoch bigint,
  p_seq bigint,
  p_limit integer,
  p_lease_ms bigint default 600000,
  p_timeout_ms bigint default null,
  p_cursor bigint[] default null,
  p_channels text[] default null,
  p_pattern text default null,
  p_last_id bigint default null,
  p_last_at bigint default null,
  out answer text,
  out token text,
  out messages integer,
  out is_limited boolean,
  out retry_at bigint,
  out cursor bigint[]
)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_walk lonnymq.walk;
  v_token text;
  v_ids bigint[];
  v_made_at bigint;
  v_due_at bigint;
  -- The tokens of the messages begin with these digits: a part has its own, so that a message which the
  -- same claim leases again has another token than before.
  v_part_token text := left(replace(gen_random_uuid()::text, '-', ''), 16);
begin
  perform lonnymq.guard_range('limit', p_limit, 1, 10000);
  perform lonnymq.guard_range('lease_ms', p_lease_ms, 1, 2592000000);
  perform lonnymq.guard_range('timeout_ms', coalesce(p_timeout_ms, 1), 1, 3155760000000);
  perform lonnymq.guard_range('numbers in the cursor', cardinality(coalesce(p_cursor, '{0,0,0}')), 3,
    4);
  perform lonnymq.guard_own_transaction('claim_take');
  perform set_config('idle_in_transaction_session_timeout', '10s', true);
  perform from lonnymq.stream s where s.name = p_stream and s.epoch = p_epoch;
  if not found then
    perform lonnymq.stream_guard(p_stream, p_epoch);
  end if;
  select c.token into v_token from lonnymq.claim c where c.stream = p_stream and c.seq = p_seq;
  v_token := coalesce(v_token, left(replace(gen_random_uuid()::text, '-', ''), 16));

  v_walk := lonnymq.walk_fold(lonnymq.walk_begin(p_cursor, p_limit));
  select array_agg(l.id order by l.ordinal) filter (where l.id is not null), min(l.dequeued_at),
    min(l.lease_until), bool_or(l.answer = 'counted'), min(l.answer), min(l.retry_at),
    (array_agg(l.cursor::text order by l.ordinal desc))[1]::bigint[]
  into v_ids, v_made_at, v_due_at, is_limited, answer, retry_at, cursor
  from lonnymq.walk_lease(v_walk, p_lease_ms, p_stream,
    row(v_part_token, p_channels, p_pattern, p_last_id, p_last_at)) with ordinality as l (
      answer, id, token, channel, content, state, attempt, kind, headers, key, created_at, dequeue_at,
      dequeued_at, lease_until, retry_at, cursor, ordinal);
  if v_ids is null then
    messages := 0;
    is_limited := false;
    return;
  end if;

  answer := 'claimed';
  token := v_token;
  messages := cardinality(v_ids);
  perform lonnymq.stream_guard(p_stream, p_epoch);
  insert into lonnymq.claim (stream, seq, made_at, timeout_at, token)
  values (p_stream, p_seq, v_made_at, v_made_at + p_timeout_ms, v_token)
  on conflict (stream, seq) do nothing;
  perform from lonnymq.claim c
  where c.stream = p_stream and c.seq = p_seq and c.token = v_token
  for no key update;
  if not found then
    raise exception using errcode = 'serialization_failure',
      message = format('claim %s of stream %s was begun by another call', p_seq, p_stream),
      hint = 'Call again; only a claim that is begun is added to by several calls at once.';
  end if;
  insert into lonnymq.claim_part (stream, seq, part, due_at, message_ids, token)
  select p_stream, p_seq, coalesce((
      select p.part from lonnymq.claim_part p
      where p.stream = p_stream and p.seq = p_seq order by p.part desc limit 1
    ), 0) + 1, v_due_at, v_ids, v_part_token;
end
$$;

comment on function lonnymq.claim_take(
  text, bigint, bigint, integer, bigint, bigint, bigint[], text[], text, bigint, bigint
) is
'Adds messages to a claim: leases them, channel by channel in turn, under every limit.';

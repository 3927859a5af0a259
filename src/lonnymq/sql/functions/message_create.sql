-- Adds one message to a channel, inside the caller's transaction.
--
-- Answers: created (id); duplicate (id of the live message that holds the name); dropped or refused,
--   as the channel says, with the reason full or releasing. A channel with a capacity says how full
--   it is: counted are what is committed and this transaction's own, so what others have not yet
--   committed may take it over.
-- Locks: none that anybody could wait for, except on an equal name.
-- Notifies: when the channel has nothing due and nothing earlier to wait for.
create or replace function lonnymq.message_create(
  p_channel text,
  p_content bytea,
  p_dequeue_at bigint default null,
  p_delay_ms bigint default null,
  p_name text default null,
  p_kind text default null,
  p_headers jsonb default null,
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
begin
  if p_channel is null or octet_length(p_channel) not between 1 and 255
    or p_content is null or octet_length(p_content) > 67108864
    or octet_length(p_name) not between 1 and 255 or octet_length(p_kind) not between 1 and 255
    or p_delay_ms is not null or p_headers is not null
  then
    perform lonnymq.guard_message(p_channel, p_content, p_dequeue_at, p_delay_ms, p_name, p_kind,
      p_headers);
  end if;
  perform lonnymq.commit_durably();

  select a.answer, a.id, a.reason, a.size, a.max_size
  into answer, id, reason, size, max_size
  from lonnymq.message_add(null, p_channel, p_content, p_dequeue_at, p_delay_ms, p_name, p_kind,
    p_headers) a;
end
$$;

comment on function lonnymq.message_create(text, bytea, bigint, bigint, text, text, jsonb) is
'Adds one message to a channel.';

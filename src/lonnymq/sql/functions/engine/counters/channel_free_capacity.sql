-- How many messages more a channel takes, and what it answers beyond that: see channel_level.
-- Answers: room, null where there is no capacity; the answer and the reason for what does not fit.
create or replace function lonnymq.channel_free_capacity(
  p_channel text, out room bigint, out answer text, out reason text
)
language sql
stable
as $$
  select l.room, l.answer, l.reason from lonnymq.channel_level(p_channel) l
$$;

comment on function lonnymq.channel_free_capacity(text) is
'How many messages more a channel takes.';

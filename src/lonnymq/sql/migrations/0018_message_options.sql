-- Locks: message, while the new index is built (it is empty, but message is read once: about a second for two million
-- messages), and dead, for a moment. Calls under way are waited for.
--
-- What a producer may ask of a single message.
--   expires_at    from then on the message is not handed out any more
--   max_attempts  instead of the channel's
--   priority      0 or none is ordinary. The higher, the earlier among the messages of the channel that are due
alter table lonnymq.message
  add column expires_at bigint, add column max_attempts integer, add column priority integer;
alter table lonnymq.dead add column max_attempts integer, add column priority integer;
create index message_expires_ix on lonnymq.message (expires_at) where expires_at is not null;

-- The same as one value, for the functions that create messages; no table has these rows.
create type lonnymq.message_option as (expires_at bigint, max_attempts integer, priority integer);

-- These take the options now.
drop function if exists lonnymq.message_create(text, bytea, bigint, bigint, text, text, jsonb);
drop function if exists lonnymq.message_create_many(
  text[], bytea[], bigint[], bigint[], text[], text[], jsonb[]
);

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
--   unique_for_ms   how long the key stays taken from the create on, whatever becomes of the message
--   when_duplicate  what a create does whose key is taken: keep, replace, postpone or refuse
--   max_delay_ms    how long a message can be postponed, from its create on
create type lonnymq.message_option as (
  expires_at bigint, max_attempts integer, priority integer, unique_for_ms bigint,
  when_duplicate text, max_delay_ms bigint
);

-- A key that stays taken for a period, and the message that took it.
create table lonnymq.key_hold (
  channel text collate "C" not null,
  key text collate "C" not null,
  message_id bigint not null,
  until_at bigint not null,
  primary key (channel, key)
) with (
  fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000
);
create index key_hold_until_ix on lonnymq.key_hold (until_at);

drop function if exists lonnymq.message_judge(text[], text[]);

-- These take the options now.
drop function if exists lonnymq.message_create(text, bytea, bigint, bigint, text, text, jsonb);
drop function if exists lonnymq.message_create_many(
  text[], bytea[], bigint[], bigint[], text[], text[], jsonb[]
);

-- Locks: history against writers while it is read once for the new index, about a second for each two million rows.
--
-- What a handler returned, and every attempt of a message by the id of the message: completions too.
alter table lonnymq.history add column result bytea;
create index history_message_ix on lonnymq.history (message_id);
drop index lonnymq.history_trouble_ix;

-- These take a result now.
drop function if exists lonnymq.message_complete(bigint[], uuid[]);
drop function if exists lonnymq.message_complete(bigint, uuid);

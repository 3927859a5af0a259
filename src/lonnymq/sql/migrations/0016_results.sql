-- Locks: history against writers while it is read once for the new index, about a second for each two million rows.
-- message, for a moment; calls under way are waited for.
--
-- What a handler returned, and every attempt of a message by the id of the message: completions too.
alter table lonnymq.history add column result bytea;
create index history_message_ix on lonnymq.history (message_id);
drop index lonnymq.history_trouble_ix;

-- How far the handler of a running message has come, from 0 to 1, and what it says of that. Written by heartbeats.
alter table lonnymq.message add column progress real, add column progress_note text;

-- These take a result or the progress now.
drop function if exists lonnymq.message_heartbeat(bigint[], uuid[], bigint);
drop function if exists lonnymq.message_heartbeat(bigint, uuid, bigint);
drop function if exists lonnymq.message_complete(bigint[], uuid[]);
drop function if exists lonnymq.message_complete(bigint, uuid);

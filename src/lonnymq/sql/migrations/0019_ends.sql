-- Locks: message, while it is read once for the new index, about half a second for each million of messages. Calls
-- under way are waited for.
--
-- What happens when messages end.
--   watched   somebody wants to know when the message ends. No index names the column, so that setting it is a
--             heap-only update
--   group_id  the group that waits for the end of the message
alter table lonnymq.message add column watched boolean, add column group_id bigint;
create index message_group_ix on lonnymq.message (group_id, id) where group_id is not null;

-- Messages that are waited for together. The message in the columns channel to headers is created when the group is
-- sealed and no member is left.
--   sealed        nothing more comes, except what members add
--   additions     how often messages were added since the seal: whoever ends the group with an older snapshot fails
--   ended_at      when the last member ended; callback_id is the message that was created then
--   completed …   how many members ended how, since ended_at
create table lonnymq.message_group (
  id bigint generated always as identity primary key,
  created_at bigint not null,
  ended_at bigint,
  callback_id bigint,
  completed bigint,
  dead bigint,
  cancelled bigint,
  additions integer not null default 0,
  sealed boolean not null default false,
  channel text collate "C" not null,
  kind text,
  headers jsonb,
  content bytea not null
);
create index message_group_ended_ix on lonnymq.message_group (ended_at) where ended_at is not null;

-- How members ended, a row for each settlement and group: no row is written twice, so nobody waits.
create table lonnymq.group_tally (
  group_id bigint not null,
  completed integer not null,
  dead integer not null,
  cancelled integer not null
);
alter table lonnymq.group_tally replica identity full; -- no key, see 0012
create index group_tally_ix on lonnymq.group_tally (group_id);

-- Groups whose last member ended in a transaction that may not wait: maintenance looks at them. Such a row counts as a
-- member.
create table lonnymq.group_pending (
  id bigint generated always as identity primary key,
  group_id bigint not null
);
create index group_pending_group_ix on lonnymq.group_pending (group_id);

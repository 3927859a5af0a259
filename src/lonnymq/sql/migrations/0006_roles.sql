-- Locks: installed, for a moment; only installers and commands that show the version read it.
--
-- Who may do what, for queues that are installed with roles. Which role may call which function is said
-- in install/grants.sql.

-- A role that may use some channels only. Who is a member of several may use the channels of all of them.
--   channels, prefixes   the names it may use, and the beginnings of names
create table lonnymq.confined (
  role text collate "C" primary key,
  channels text[] collate "C" not null,
  prefixes text[] collate "C" not null
);

-- Whether the functions run with their owner's rights, for the roles of this queue.
alter table lonnymq.installed add column roles boolean not null default false;

-- Functions that the last upgrade left in place for calls that were under way: the next install drops them.
alter table lonnymq.installed add column stale text[] not null default '{}';

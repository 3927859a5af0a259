-- Locks: history against writers while it is read once for the new index, about a second for each two
-- million attempts; channel_setting for an instant. All else is new.
--
-- What the page keeps beside the queue: who did what, and how the queue stood every ten seconds.
-- No dequeue reads it.

-- What somebody did through the page; it commits with what it tells of.
--   who       as the page or its host app knows them
--   db_user   as the database knows who asked
--   subject   the channel, message or schedule that it was done to
create table lonnymq.audit (
  id bigint generated always as identity primary key,
  at bigint not null,
  who text not null,
  db_user text not null default session_user,
  action text not null,
  subject text collate "C",
  parameters jsonb not null,
  answer jsonb not null
);
create index audit_subject_ix on lonnymq.audit (subject, id);

-- How the queue stood at a moment, and what became of how many since the sample before it.
--   seen      the snapshot up to which attempts are counted: the next sample begins there
--   last_id   how far messages were numbered; created is the step since the sample before it
--   whole     false: more attempts had ended than one sample counts
--   all_channels   false: attempts had ended in more channels than a sample tells apart
create table lonnymq.sample (
  at bigint primary key,
  seen pg_snapshot not null,
  last_id bigint not null,
  created bigint not null,
  completed bigint not null,
  failed bigint not null,
  deferred bigint not null,
  expired bigint not null,
  died bigint not null,
  waiting bigint not null,
  running bigint not null,
  dead bigint not null,
  oldest_ms bigint,
  workers integer not null,
  whole boolean not null,
  all_channels boolean not null
);

-- What became of how many attempts of a channel in a minute, for those that had the most in a sample.
--   wait_ms, run_ms   all of them together
create table lonnymq.channel_sample (
  channel text collate "C" not null,
  at bigint not null,
  completed bigint not null,
  failed bigint not null,
  deferred bigint not null,
  expired bigint not null,
  died bigint not null,
  wait_ms bigint not null,
  run_ms bigint not null,
  primary key (channel, at)
) with (fillfactor = 70);
create index channel_sample_at_ix on lonnymq.channel_sample (at);

-- The attempts of a message that did not go well, for who asks after it. Completions, which are nearly
-- all attempts, are not in it and do not pay for it.
create index history_trouble_ix on lonnymq.history (message_id) where outcome <> 'completed';

create index channel_setting_paused_ix on lonnymq.channel_setting (name) where paused;

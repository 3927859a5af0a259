-- Locks: creates new relations only, so it takes no lock that a running queue could wait for.
--
-- The stored half of the queue. README.md beside this folder explains the model on one page.

-- The settings of the queue: exactly one row.
create table lonnymq.queue (
  only_row boolean primary key default true check (only_row),
  max_concurrency integer check (max_concurrency >= 1),
  history text not null default 'outcomes' check (history in ('off', 'outcomes', 'content')),
  history_keep_ms bigint default 2592000000 check (history_keep_ms >= 0),
  channel_idle_ms bigint not null default 86400000 check (channel_idle_ms >= 0),
  default_max_concurrency integer check (default_max_concurrency >= 1),
  default_release_interval_ms bigint check (default_release_interval_ms >= 1),
  default_burst integer not null default 1 check (default_burst >= 1),
  default_max_size bigint check (default_max_size >= 1),
  default_when_full text not null default 'refuse' check (default_when_full in ('refuse', 'drop')),
  default_weight integer not null default 1 check (default_weight between 1 and 1000),
  default_max_attempts integer not null default 5 check (default_max_attempts >= 1),
  default_retry_delays_ms bigint[] not null default '{1000,5000,30000,120000,600000}',
  default_retry_jitter double precision not null default 0.1
    check (default_retry_jitter between 0 and 1)
);
insert into lonnymq.queue default values;

-- What people said about a channel. Written by channel_set, channel_pause, channel_resume and
-- channel_release, inside transactions of any length; the engine only ever reads it.
create table lonnymq.channel_setting (
  name text collate "C" primary key check (octet_length(name) between 1 and 255),
  max_concurrency integer check (max_concurrency >= 1),
  release_interval_ms bigint check (release_interval_ms >= 1),
  burst integer not null check (burst >= 1),
  max_size bigint check (max_size >= 1),
  when_full text not null check (when_full in ('refuse', 'drop')),
  weight integer not null check (weight between 1 and 1000),
  max_attempts integer not null check (max_attempts >= 1),
  retry_delays_ms bigint[] not null,
  retry_jitter double precision not null check (retry_jitter between 0 and 1),
  paused boolean not null default false,
  releasing boolean not null default false
);
create index channel_setting_releasing_ix on lonnymq.channel_setting (name) where releasing;
create index channel_setting_capacity_ix on lonnymq.channel_setting (name)
  where max_size is not null;

-- A channel as the engine knows it: the policy that was last folded in. Its row is what a dequeue
-- locks to count, so it is written seldom, and by nobody's transaction but the engine's own.
--   most_attempts  the highest max_attempts that it ever had
--   recount_after  its size is to be counted when all transactions below this one have ended
create table lonnymq.channel (
  id bigint generated always as identity primary key,
  name text collate "C" not null unique,
  max_concurrency integer,
  release_interval_ms bigint,
  burst integer not null,
  max_size bigint,
  when_full text not null,
  weight integer not null,
  max_attempts integer not null,
  most_attempts integer not null,
  retry_delays_ms bigint[] not null,
  retry_jitter double precision not null,
  releasing boolean not null default false,
  recount_after xid8
) with (
  fillfactor = 70,
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0
);
create index channel_capacity_ix on lonnymq.channel (id) where max_size is not null;
create index channel_recount_ix on lonnymq.channel (recount_after)
  where recount_after is not null;

-- Where a channel stands, newest version first: what moves a thousand times a second must not leave
-- its dead versions in front of its live one, for they stay as long as anybody's snapshot does.
--   seat       its place in the ring: it has something due and may be served. Null: not in the ring
--   hold       why it is kept out of the ring: saturated, throttled, paused. Null: it is not
--   wake_at    when it is to be given a seat without anybody saying so
--   floor_*    nothing below (floor_at, floor_id) is waiting, except what a note still has to tell
--   idle_at    since when it has nothing
create table lonnymq.place (
  channel_id bigint not null,
  version bigint not null,
  seat bigint,
  wake_at bigint,
  floor_at bigint not null,
  floor_id bigint not null,
  idle_at bigint,
  hold text check (hold in ('saturated', 'throttled', 'paused')),
  primary key (channel_id, version)
) with (
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0
);
create unique index place_seat_ix on lonnymq.place (seat) where seat is not null;
create index place_wake_ix on lonnymq.place (wake_at) where wake_at is not null;
create index place_idle_ix on lonnymq.place (idle_at) where idle_at is not null;
create sequence lonnymq.seat_seq as bigint;

-- The counts of channels that have limits, newest version first as well.
-- The row of channel 0 is the queue's own.
--   in_flight  leases that count in it
--   size       live messages, where there is a capacity
--   tat        the moment at which the rate will have been paid for (generic cell rate algorithm)
create table lonnymq.meter (
  channel_id bigint not null,
  version bigint not null,
  in_flight bigint not null default 0,
  size bigint not null default 0,
  tat bigint not null default 0,
  primary key (channel_id, version)
) with (
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0
);

-- A message is waiting (token null) or leased (token set). Finished ones are gone, dead ones are in
-- dead. No index names a column that a lease changes, so that a lease is a heap-only update:
-- fillfactor leaves each page room for it. What may be stored is checked by the functions: a check
-- constraint is read anew by every statement that inserts, and five of them were a quarter of a create.
--   slot   what this lease is counted in: 1 its channel's meter, 2 the queue's, 3 both
create table lonnymq.message (
  id bigint generated by default as identity primary key,
  dequeue_at bigint not null default floor(extract(epoch from now()) * 1000)::bigint,
  created_at bigint not null default floor(extract(epoch from clock_timestamp()) * 1000)::bigint,
  lease_until bigint,
  dequeued_at bigint,
  token uuid,
  attempt integer not null default 0,
  slot smallint not null default 0,
  channel text collate "C" not null,
  kind text,
  name text collate "C",
  worker text,
  headers jsonb,
  state bytea,
  error text,
  content bytea not null
) with (
  fillfactor = 50,
  autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_insert_scale_factor = 0.2,
  autovacuum_analyze_scale_factor = 0.2, autovacuum_vacuum_cost_delay = 0
);
create index message_line_ix on lonnymq.message (channel, dequeue_at, id);
create unique index message_name_ix on lonnymq.message (channel, name) where name is not null;

-- What a transaction tells the engine; it commits with what it tells of.
--   dequeue_at, message_id   the first message to run
--   slots, queue_slots       leases that have ended
--   size                     messages more or less, for channels with a capacity
--   look                     the settings changed: read them, and look at the whole line
--   told                     those who wait were notified, of this note or of one before it
--   quiet                    the message is where a dequeue looks anyway: to be folded now and then
--   single                   it tells of this one message and of nothing else
create table lonnymq.note (
  xid xid8 not null default pg_current_xact_id(),
  dequeue_at bigint,
  message_id bigint,
  slots integer not null default 0,
  queue_slots integer not null default 0,
  size integer not null default 0,
  look boolean not null default false,
  told boolean not null default false,
  quiet boolean not null default false,
  single boolean not null default false,
  channel text collate "C" not null
) with (
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_cost_delay = 0
);
create index note_xid_ix on lonnymq.note (quiet, xid);
create index note_look_ix on lonnymq.note (xid) where look;
create index note_size_ix on lonnymq.note (channel) where size <> 0;

-- How far the engine has come: the newest row counts.
--   until, again  notes are folded of all transactions below until, but for those in again
--   seat_floor    no seat is lower
--   swept_at      when every lease and every wake_at was last looked at
--   folded_at     when
--   told_at       when a note was last folded that those who wait were notified of
create table lonnymq.tick (
  id bigint generated always as identity primary key,
  until xid8 not null,
  again xid8[] not null,
  seat_floor bigint not null,
  swept_at bigint not null,
  folded_at timestamptz not null,
  told_at timestamptz not null
) with (
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0
);

-- Which leases to look at when: one row a dequeue. A message's own lease_until is what counts.
create table lonnymq.lease (
  due_at bigint not null,
  message_ids bigint[] not null
) with (
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_cost_delay = 0
);
create index lease_due_ix on lonnymq.lease (due_at);

-- Out of attempts: kept until redriven or purged.
create table lonnymq.dead (
  id bigint primary key,
  dequeue_at bigint not null,
  created_at bigint not null,
  died_at bigint not null,
  attempt integer not null,
  channel text collate "C" not null,
  kind text,
  name text collate "C",
  headers jsonb,
  state bytea,
  error text,
  content bytea not null
);
create index dead_channel_ix on lonnymq.dead (channel, id);

-- One row for each attempt that ended. Read by transaction id, dropped by the day.
create table lonnymq.history (
  xid xid8 not null default pg_current_xact_id(),
  message_id bigint not null,
  created_at bigint not null,
  dequeue_at bigint not null,
  dequeued_at bigint not null,
  finished_at bigint not null,
  size bigint not null,
  attempt integer not null,
  outcome text not null,
  channel text collate "C" not null,
  kind text,
  name text,
  worker text,
  error text,
  headers jsonb,
  content bytea
) partition by range (finished_at);
create index history_xid_ix on lonnymq.history (xid);
create table lonnymq.history_other partition of lonnymq.history default;
create index history_other_finished_ix on lonnymq.history_other (finished_at);

-- Who reads history, and up to where it has it safe.
create table lonnymq.history_reader (
  name text collate "C" primary key check (octet_length(name) between 1 and 255),
  confirmed xid8 not null,
  confirmed_at timestamptz not null default now()
);

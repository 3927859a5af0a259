-- Locks: note, tick, meter, channel_setting and queue, for a moment; calls under way are waited for.
--
-- Only the folder writes what time depends on: a dequeue leaves its leases in a note, and the folder keeps
-- them in lease. So a mark can say up to which moment everything was looked at, whoever commits late.

--   lease_until, message_ids   leases that were taken, and when the first of them ends
--   recheck   the channel was held by a call that was not the folder: look whether that still holds
--   recount   messages came in that are not told of one by one: count them
--   added     messages that came in, of a writer who knew of no capacity; size is of one who did
alter table lonnymq.note
  drop column single,
  add column lease_until bigint,
  add column recheck boolean not null default false,
  add column recount boolean not null default false,
  add column added integer not null default 0,
  add column message_ids bigint[];
alter table lonnymq.note alter column message_ids set storage external;
drop index lonnymq.note_look_ix;
drop index lonnymq.note_size_ix;
create index note_size_ix on lonnymq.note (channel, xid) where size <> 0 or recount;

--   is_settling   these have run out, and somebody was settling them when that was found
alter table lonnymq.lease add column is_settling boolean not null default false;
create index lease_settling_ix on lonnymq.lease (due_at) where is_settling;

-- A checkpoint that this cluster's own transaction has written says so: made_by is its xmin. A copy that
-- came by a restore or by replication has another one, and its transaction ids mean nothing here.
--   lease_mark, wake_mark   every lease that was to end, every channel that was to wake up to then was
--                           looked at
--   folded_at               when, by the queue's clock
--   has_moved               since then a channel has left the ring for want of messages, or a floor was
--                           moved up: notes that could wait cannot wait any more
alter table lonnymq.tick
  drop column swept_at,
  drop column folded_at,
  add column made_by xid8 not null default pg_current_xact_id(),
  add column lease_mark bigint not null default -9223372036854775808,
  add column wake_mark bigint not null default -9223372036854775808,
  add column folded_at bigint not null default -9223372036854775808,
  add column has_moved boolean not null default false;
delete from lonnymq.tick;
insert into lonnymq.tick (until, again, seat_floor, told_at) values ('0', '{}', 0, '-infinity');

-- What is counted begins anew each time a limit is set where there was none: limit_epoch says which time
-- it is, meter.epoch which one the count belongs to.
create sequence lonnymq.limit_epoch_seq as bigint;
alter table lonnymq.channel_setting add column limit_epoch bigint not null default 0;
alter table lonnymq.queue add column limit_epoch bigint not null default 0;
alter table lonnymq.meter add column epoch bigint not null default 0;

-- Leases that were taken before there was a capacity: they do not tell of their messages' end. And which
-- time a capacity was set it is that the size belongs to.
alter table lonnymq.channel
  add column early_ids bigint[],
  add column size_epoch bigint not null default 0;
create index channel_early_ix on lonnymq.channel (id) where early_ids is not null;

-- Leases that were taken before there was a limit to count them in: they count until they end.
-- Channel 0 is the queue.
create table lonnymq.uncounted (
  channel_id bigint not null,
  message_id bigint not null,
  token uuid not null,
  primary key (channel_id, message_id)
);

-- Dequeues that ran when a first limit was found: it is counted when they have ended.
create table lonnymq.limit_wait (
  channel_id bigint primary key,
  epoch bigint not null,
  dequeues text[] not null
);

-- What the steps of a dequeue hand to each other; no table has these rows.
--   walk: where a consumer stands in the ring, and what its call knows
--     left         how many more it may take
--     pending      notes that are not folded: {channel: [dequeue_at, id]} of the first message told of
--     looked       below which transaction all must have ended before it may wait for long
create type lonnymq.walk as (
  now_at bigint, is_folder boolean, is_contended boolean, remaining integer, visits integer,
  seat bigint, lap bigint, used bigint, seat_last bigint, seat_floor bigint,
  looked bigint, pending jsonb, until xid8, again xid8[], has_moved boolean, has_limit boolean,
  is_told boolean, is_late boolean, tick_id bigint, is_same boolean
);
--   dequeued: a row that message_dequeue answers
create type lonnymq.dequeued as (
  answer text, id bigint, token uuid, channel text, content bytea, state bytea, attempt integer,
  kind text, headers jsonb, name text, created_at bigint, dequeue_at bigint, dequeued_at bigint,
  lease_until bigint, look_at bigint, cursor bigint[]
);
--   ring_window: the next channels of a walk, an array a column
--     bits      what a lease of theirs counts in: 1 the channel's concurrency, 4 its capacity
--     limited   the ids of those with limits
--     locked    the ids of those with limits whose rows the call holds
--     rounds    how many turns are taken at once
--     used      what the first one had already of a turn that was cut short
--     now_at, is_contended   when they were asked, and whether another call held one of them
--     is_whole  nobody comes after them in this lap
create type lonnymq.ring_window as (
  seats bigint[], ids bigint[], names text[], floor_ats bigint[], floor_ids bigint[],
  weights bigint[], quotas bigint[], bits integer[], limited bigint[], locked bigint[],
  rounds bigint, used bigint, is_whole boolean, is_contended boolean, now_at bigint
);
--   claim_choice: what a claim may take: channels by name or pattern, what was created or due by then
create type lonnymq.claim_choice as (
  token text, channels text[], pattern text, last_id bigint, last_at bigint
);
--   fold_batch: notes that a fold has read, by channel
--     tids      the notes
--     is_more   there are more
--     busy      channels that another call holds: their notes are left
create type lonnymq.fold_batch as (
  tids tid[], queue_slots bigint, has_told boolean, has_new boolean, is_more boolean,
  names text[], due_ats bigint[], due_ids bigint[], slots bigint[], sizes bigint[], looks boolean[],
  recounts boolean[], busy text[], again xid8[]
);

-- Locks: message, while the new index is built, and worker, for a moment. Producers and workers wait meanwhile: about
-- two seconds for each million of messages.
--
-- A consumer that asks for kinds has a ring of its own: the channels that have messages of these kinds due. A ring is
-- built when somebody asks for its kinds for the first time, and is dropped when nobody has asked for long. A queue
-- whose consumers take everything has none of these rows.

-- The first message of a kind in a channel, the channels of a kind, and the kinds that there are. A message without a
-- kind has the kind ''.
create index message_kind_ix on lonnymq.message
  ((coalesce(kind, '') collate "C"), channel, dequeue_at, id);

-- Kinds that somebody asks for together.
--   kinds       sorted, each once; '' is messages without a kind
--   hash        of the kinds
--   built       how many of the kinds are in the ring; built_channel: and of the next one the channels up to this one
--   seat_floor  no seat in the ring is lower
--   used_at     when somebody asked, to the minute
create table lonnymq.kind_filter (
  id bigint generated always as identity primary key,
  hash uuid not null unique,
  kinds text[] not null,
  built integer not null default 0,
  built_channel text collate "C" not null default '',
  seat_floor bigint not null default 0,
  used_at bigint not null
) with (
  fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000
);

-- A channel in the ring of a filter, as channel_position is of the ring of all: only the folder writes these rows. A
-- channel without a row has no message of these kinds waiting, except what a change describes.
--   wake_at   when the channel gets a seat. The last moment there is: when its hold ends
--   is_held   the channel was found to be held: channel_position tells why
create table lonnymq.kind_position (
  channel_id bigint not null,
  filter_id bigint not null,
  version bigint not null,
  seat bigint,
  wake_at bigint,
  floor_at bigint not null,
  floor_id bigint not null,
  is_held boolean not null,
  primary key (channel_id, filter_id, version)
) with (
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0
);
create unique index kind_position_seat_ix on lonnymq.kind_position (filter_id, seat)
  where seat is not null;
create index kind_position_wake_ix on lonnymq.kind_position (filter_id, wake_at)
  where wake_at is not null;

--   filter_id   the filter whose ring is walked. Null: the ring of all. 0: it is not built yet
alter type lonnymq.walk add attribute filter_id bigint, add attribute kinds text[];

-- The kinds that a worker takes; '' is messages without a kind. Null: all of them.
alter table lonnymq.worker add column kinds text[];

-- Locks: creates new relations only, so it takes no lock that a running queue could wait for.
--
-- What workers keep beside the queue: when to create what, and who of them is alive. No dequeue reads
-- it.

-- A message to be created again and again. SQL stores the cron line; workers read it, and say which of
-- its moments have come.
--   cron, zone   a line of five fields, read on the clocks of the zone; null: by interval
--   every_ms     an interval: the ticks are its multiples since 1970
--   missed       what to do about ticks that nobody was there for: skip, once, all
--   version      another one after each change: who acts upon an old one is behind
--   tick_at      up to this moment all ticks are dealt with
--   next_at      the tick after it; null: a worker has yet to find out
--   message_id, answer   what became of the last tick
create table lonnymq.schedule (
  name text collate "C" primary key check (octet_length(name) between 1 and 200),
  version bigint generated always as identity,
  tick_at bigint not null,
  next_at bigint,
  set_at bigint not null,
  every_ms bigint check (every_ms >= 1000),
  message_id bigint,
  paused boolean not null default false,
  cron text,
  zone text not null,
  missed text not null check (missed in ('skip', 'once', 'all')),
  answer text,
  channel text collate "C" not null,
  kind text,
  headers jsonb,
  content bytea not null,
  check ((cron is null) <> (every_ms is null))
);

-- A worker that said that it is there.
--   seen_at, again_ms   when, and how soon it is to say so again
--   about               what it says of itself: host, process, kinds and the like
create table lonnymq.worker (
  name text collate "C" primary key check (octet_length(name) between 1 and 255),
  started_at bigint not null,
  seen_at bigint not null,
  again_ms bigint not null,
  concurrency integer not null,
  running integer not null,
  stopping boolean not null,
  about jsonb not null
) with (
  fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000
);

-- Locks: channel_position against writers while its positions are read once for the new index, milliseconds for
-- 100,000 channels; channel_sample for an instant. All else is new.
--
-- What became of the attempts of every channel, so that failures are found exactly and metrics can count.

-- The channels that are held, by the reason.
create index channel_position_hold_ix on lonnymq.channel_position (hold, channel_id)
  where hold is not null;

-- What became of a channel's attempts. The row without a name is the whole queue, and only this row has waits and
-- runs. Written by the sampler alone.
--   completed … died     since the channel was first seen: these only grow, as Prometheus wants it
--   waits, runs          how many attempts waited and ran for how long, by the bounds of duration_bounds
--   sampled_at           the last sample with an attempt of the channel
--   failed_at            the last sample with an attempt that failed
--   window_at            the 5 minutes that recent_ counts. earlier_ counts the 5 minutes before
create table lonnymq.channel_total (
  channel text collate "C" primary key,
  sampled_at bigint not null,
  failed_at bigint,
  completed bigint not null,
  failed bigint not null,
  deferred bigint not null,
  expired bigint not null,
  died bigint not null,
  wait_ms bigint not null,
  run_ms bigint not null,
  window_at bigint not null,
  recent_completed bigint not null,
  recent_failed bigint not null,
  recent_died bigint not null,
  earlier_completed bigint not null default 0,
  earlier_failed bigint not null default 0,
  earlier_died bigint not null default 0,
  waits bigint[],
  runs bigint[]
) with (
  fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000
);
create index channel_total_failed_ix on lonnymq.channel_total (failed_at)
  where failed_at is not null;

-- How long the attempts of a minute waited and ran, for percentiles.
alter table lonnymq.channel_sample add column waits bigint[], add column runs bigint[];

-- The same for the kinds of messages. The kind '' is of messages without one.
create table lonnymq.kind_sample (
  kind text collate "C" not null,
  at bigint not null,
  completed bigint not null,
  failed bigint not null,
  deferred bigint not null,
  expired bigint not null,
  died bigint not null,
  wait_ms bigint not null,
  run_ms bigint not null,
  waits bigint[],
  runs bigint[],
  primary key (kind, at)
) with (fillfactor = 70);
create index kind_sample_at_ix on lonnymq.kind_sample (at);

-- Attempts that ended, put together by everything that a sample tells apart; no table has these rows.
create type lonnymq.attempt_group as (
  channel text, kind text, outcome text, wait_bucket integer, run_bucket integer, attempts bigint,
  wait_ms bigint, run_ms bigint
);
--   attempt_part: what became of the attempts of the queue, of a channel or of a kind
create type lonnymq.attempt_part as (
  name text, completed bigint, failed bigint, deferred bigint, expired bigint, died bigint,
  wait_ms bigint, run_ms bigint, waits bigint[], runs bigint[]
);

-- Functions that get other columns or another argument.
drop function if exists lonnymq.channel_active(integer, integer, text[]);
drop function if exists lonnymq.message_purge(text, integer);

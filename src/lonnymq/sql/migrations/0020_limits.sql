-- Locks: change and channel_counter, for a moment; calls under way are waited for.
--
-- Limits that cost little: a counter is locked, read and written in place, completions of many channels share a change,
-- and the queue's own max_concurrency is counted in parts, so that consumers do not wait for each other's turn.

-- A counter is written in place, and gets a new version now and then (channel_counter_move). The room lets the new row
-- stay on its page. Rows 0 to -15 are the parts of the queue's own limit: size is what a part may have in flight, and
-- tat the max_concurrency that was split (queue_limit_split).
alter table lonnymq.channel_counter set (fillfactor = 50);

--   slot_channels   the channels of ended leases, a name per lease, instead of a change per channel
alter table lonnymq.change add column slot_channels text[] collate "C";
alter table lonnymq.change alter column slot_channels set storage external;

--   channel_limits: the limits of a channel as a dequeue has read them. epoch is the limit_epoch of the settings
create type lonnymq.channel_limits as (
  max_concurrency integer, min_interval_ms bigint, burst integer, epoch bigint
);
--   ring_window: what is known of each channel's limits. Without limits, or if another call holds the counter: null
--     is_short  a concurrency allows less than the channel is due
alter type lonnymq.ring_window
  add attribute limits lonnymq.channel_limits[],
  add attribute counters tid[],
  add attribute in_flights bigint[],
  add attribute tats bigint[],
  add attribute is_short boolean;
--   walk: the parts of the queue's own limit that the call holds, and their free slots
alter type lonnymq.walk
  add attribute parts tid[],
  add attribute part_slots bigint[];

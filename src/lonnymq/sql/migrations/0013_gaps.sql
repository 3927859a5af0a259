-- Locks: channel_position and change, for a moment; calls under way are waited for.
--
-- A gap is a part of a channel, above the floor, in which no message waits: after (gap_at, gap_id) and before
-- (gap_end_at, gap_end_id). A message that goes back to its old place lowers the floor, and everything between the
-- message and the old floor is leased or gone. A dequeue steps over the gap instead of passing each message there.
alter table lonnymq.channel_position
  add column gap_at bigint, add column gap_id bigint, add column gap_end_at bigint,
  add column gap_end_id bigint;

-- The last message of a change with several messages, by (dequeue_at, id), where the author of the change knows it.
alter table lonnymq.change add column last_at bigint, add column last_id bigint;

alter type lonnymq.ring_window
  add attribute gap_ats bigint[], add attribute gap_ids bigint[],
  add attribute gap_end_ats bigint[], add attribute gap_end_ids bigint[];
alter type lonnymq.fold_batch
  add attribute last_ats bigint[], add attribute last_ids bigint[], add attribute next_ats bigint[],
  add attribute next_ids bigint[];

-- Locks: lease, for a moment; calls under way are waited for.
--
-- Leases that ran out together are taken back in the order of their messages, whatever the order of their ends. A row
-- with first_id holds leases that have run out, sorted, and first_id is the first message.
alter table lonnymq.lease add column first_id bigint;
create index lease_late_ix on lonnymq.lease (first_id) where first_id is not null;
create index lease_unsorted_ix on lonnymq.lease (due_at) where first_id is null;
drop function if exists lonnymq.lease_reclaim(bigint, bigint, integer);

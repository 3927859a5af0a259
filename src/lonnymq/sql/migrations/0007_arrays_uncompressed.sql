-- Locks: lease and claim_part, for a moment; calls under way are waited for.
--
-- The ids of thousands of messages are stored as they are: to compress them was a twentieth of what a claim
-- and its end cost, and they are gone within minutes.

alter table lonnymq.lease alter column message_ids set storage external;
alter table lonnymq.claim_part alter column message_ids set storage external;

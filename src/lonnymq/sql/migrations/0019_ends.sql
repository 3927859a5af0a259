-- Locks: message, for an instant; calls under way are waited for.
--
-- Whether somebody wants to know when the message ends. No index names the column, so that setting it is a heap-only
-- update.
alter table lonnymq.message add column watched boolean;

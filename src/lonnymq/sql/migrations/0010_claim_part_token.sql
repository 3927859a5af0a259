-- Locks: claim_part, for a moment; calls under way are waited for.
--
-- The tokens of claimed messages begin with digits of their part instead of the claim's: a message that the
-- same claim leases again after its lease ran out has another token, and the old one is worth nothing.
--   token   16 random hexadecimal digits; null in parts that were taken before: those of the claim

alter table lonnymq.claim_part
add column token text collate "C" check (token ~ '^[0-9a-f]{16}$');

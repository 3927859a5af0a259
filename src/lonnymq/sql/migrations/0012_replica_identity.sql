-- Locks: change, lease and history_other, for a moment; calls under way are waited for.
--
-- A publication that publishes deletes must know which row is meant. These tables have no key, because an index
-- would cost every call, so the whole row says it. Only a server with wal_level = logical writes more for it.
alter table lonnymq.change replica identity full;
alter table lonnymq.lease replica identity full;
alter table lonnymq.history_other replica identity full;

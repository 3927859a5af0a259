-- Locks: installed, for a moment; only installers and commands that show the version read it.
--
-- The oldest version of the library that this schema still serves. An older library that is started again, after
-- the rollback of a deploy, accepts the schema if its own version is not below.
alter table lonnymq.installed add column serves_rank integer[] not null default '{0}';

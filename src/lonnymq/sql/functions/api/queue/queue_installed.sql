-- Tells which version of the queue is installed, and whether the queue has roles.
--
-- Answers: a row.
-- Locks: none.
-- Notifies: no.
create or replace function lonnymq.queue_installed(
  out library_version text,
  out library_rank integer[],
  out functions_checksum text,
  out installed_at timestamptz,
  out migration integer,
  out roles boolean
)
language plpgsql
stable
as $$
#variable_conflict use_column
begin
  select i.library_version, i.library_rank, i.functions_checksum, i.installed_at, i.roles
  into library_version, library_rank, functions_checksum, installed_at, roles
  from lonnymq.installed i;
  select max(m.version) into migration from lonnymq.migration m;
end
$$;

comment on function lonnymq.queue_installed() is
'Tells which version of the queue is installed.';

-- Locks: the installer's advisory lock of this schema until the transaction ends, so that several
-- installers take turns and each looks at what there is after its turn has come.
--
-- What the installer needs before the first migration: which migrations have been applied, and
-- which set of functions is in place.
do $install$
begin
  perform pg_advisory_xact_lock(hashtextextended('install lonnymq', 0));
end
$install$;

do $install$
begin
  if to_regnamespace('lonnymq') is null then
    create schema lonnymq;
  end if;

  if to_regclass('lonnymq.migration') is null then
    create table lonnymq.migration (
      version integer primary key,
      name text not null,
      applied_at timestamptz not null default now()
    );
    comment on table lonnymq.migration is 'The migrations that have been applied.';
  end if;

  if to_regclass('lonnymq.installed') is null then
    create table lonnymq.installed (
      only_row boolean primary key default true check (only_row),
      library_version text not null,
      library_rank integer[] not null,
      functions_checksum text not null,
      installed_at timestamptz not null default now()
    );
    comment on table lonnymq.installed is 'The library version whose functions are in place.';
    -- Somebody dropped the table: the migrations that add columns have been applied.
    if exists (select from lonnymq.migration m where m.version = 6) then
      alter table lonnymq.installed
        add column roles boolean not null default false,
        add column stale text[] not null default '{}';
    end if;
    if exists (select from lonnymq.migration m where m.version = 14) then
      alter table lonnymq.installed add column serves_rank integer[] not null default '{0}';
    end if;
  end if;
end
$install$;

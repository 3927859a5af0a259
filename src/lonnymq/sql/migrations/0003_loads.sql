-- Locks: creates new relations only, so it takes no lock that a running queue could wait for.
--
-- Loads: many rows that become messages at once, or not at all, and once only. No dequeue reads any of it.

-- A load that was published: who (app), which one (version), and what became of its rows.
create table lonnymq.load (
  app text collate "C" not null check (octet_length(app) between 1 and 255),
  version bigint not null,
  published_at bigint not null,
  created bigint not null default 0,
  duplicate bigint not null default 0,
  dropped bigint not null default 0,
  refused bigint not null default 0,
  invalid bigint not null default 0,
  primary key (app, version)
);
create index load_published_ix on lonnymq.load (published_at);

-- A table stage_<id>, which one task has filled for a load: it is dropped when the load is published.
create table lonnymq.stage (
  id bigint generated always as identity primary key,
  made_at bigint not null,
  made_by text not null default session_user
);

-- What a stage's rows are. It has none itself.
--   answer, reason, detail   why a row cannot be a message, or was not made one; null: it can
--   headers_text             headers that are no JSON object
create table lonnymq.stage_row (
  dequeue_at bigint,
  delay_ms bigint,
  channel text collate "C",
  kind text,
  name text collate "C",
  answer text,
  reason text,
  detail text,
  headers_text text,
  headers jsonb,
  content bytea
);
-- Stored once more in a moment: what is not pressed now need not be unpacked then.
alter table lonnymq.stage_row alter column content set storage external;

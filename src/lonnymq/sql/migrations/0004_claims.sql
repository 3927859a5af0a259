-- Locks: creates new relations only, so it takes no lock that a running queue could wait for.
--
-- What readers that work by the batch keep beside the queue: a stream of claims. A claim is a set of
-- leased messages that stays the same however often it is read, until it is acknowledged as a whole.
-- No dequeue reads any of this.

-- A stream of claims, and who has it.
--   epoch         goes up with each one that opens it: whoever has an older one is refused
--   acknowledged  all claims up to this one are settled
create table lonnymq.stream (
  name text collate "C" primary key check (octet_length(name) between 1 and 255),
  epoch bigint not null,
  acknowledged bigint not null default 0,
  opened_at bigint not null
) with (
  fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000
);

-- A claim: the messages of its parts, whose tokens all begin with its own.
--   token       16 random hexadecimal digits
--   made_at     when its first message was leased
--   timeout_at  its leases are extended up to this moment, and no further; null: for ever
create table lonnymq.claim (
  stream text collate "C" not null,
  seq bigint not null,
  made_at bigint not null,
  timeout_at bigint,
  token text collate "C" not null check (token ~ '^[0-9a-f]{16}$'),
  primary key (stream, seq)
) with (
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000
);

-- What one call has added to a claim: messages, in the order in which they were taken.
--   due_at  when the lease ends that was taken with them; where it was extended, it ends later
create table lonnymq.claim_part (
  stream text collate "C" not null,
  seq bigint not null,
  part integer not null,
  due_at bigint not null,
  message_ids bigint[] not null,
  primary key (stream, seq, part)
) with (
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000
);

-- What is to come of claimed messages that are not simply completed; it is done when their claim is
-- acknowledged.
create table lonnymq.claim_outcome (
  token uuid primary key,
  message_id bigint not null,
  delay_ms bigint,
  outcome text not null check (outcome in ('complete', 'defer', 'fail', 'dead')),
  error text,
  state bytea
) with (
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000
);

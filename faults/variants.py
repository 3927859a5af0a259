"""Queues and workers that are known to be bad: each is what a reasonable person might have written.

A variant replaces functions of a scratch database, or a worker's way of looking; the checker has to find it out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Variant:
    """Statements for the scratch database, and settings of its server."""

    statements: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)


# Whoever knows an id may complete it: a worker that was stopped for too long completes another's work.
COMPLETE_WITHOUT_A_TOKEN = """
create or replace function lonnymq.message_complete(
  p_ids bigint[], p_tokens uuid[], p_results bytea[] default null
)
returns table (id bigint, answer text)
language sql
as $$
  with gone as (
    delete from lonnymq.message m where m.id = any (p_ids) returning m.*
  ), logged as (
    insert into lonnymq.history (xid, message_id, created_at, dequeue_at, dequeued_at, finished_at, size,
      attempt, outcome, channel, kind, key, worker)
    select lonnymq.history_position(), g.id, g.created_at, g.dequeue_at,
      coalesce(g.dequeued_at, lonnymq.epoch()), lonnymq.epoch(),
      octet_length(g.content), g.attempt, 'completed', g.channel, g.kind, g.key, g.worker
    from gone g
  ), changed as (
    insert into lonnymq.change (channel, slots, queue_slots, size)
    select g.channel, g.slot & 1, (g.slot >> 1) & 1, -((g.slot >> 2) & 1) from gone g where g.slot > 0
  )
  select i.id, case when g.id is null then 'not_found' else 'completed' end
  from unnest(p_ids) as i (id) left join gone g on g.id = i.id
$$
"""
COMPLETE_ONE_WITHOUT_A_TOKEN = """
create or replace function lonnymq.message_complete(p_id bigint, p_token uuid, p_result bytea default null)
returns text
language sql
as $$ select c.answer from lonnymq.message_complete(array[p_id], array[p_token]) c $$
"""

# A limit inside IN is none where the plan looks again for each row: what this statement has updated itself is
# skipped, and so the next one is found.
LIMIT_INSIDE_IN = """
create or replace function lonnymq.message_dequeue(
  p_limit integer default 1, p_lease_ms bigint default 30000, p_worker text default null,
  p_cursor bigint[] default null, p_kinds text[] default null, p_channels text[] default null
)
returns table (
  answer text, id bigint, token uuid, channel text, content bytea, state bytea, attempt integer,
  kind text, headers jsonb, key text, created_at bigint, dequeue_at bigint, dequeued_at bigint,
  lease_until bigint, retry_at bigint, cursor bigint[]
)
language plpgsql
set enable_hashjoin = off
set enable_mergejoin = off
set enable_hashagg = off
set enable_sort = off
set enable_material = off
set enable_memoize = off
set enable_indexscan = off
set enable_indexonlyscan = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  v_now bigint;
  v_room bigint;
  v_found boolean := false;
  v_channel record;
begin
  for v_channel in
    select s.name, s.max_concurrency from lonnymq.channel_setting s
    where s.max_concurrency is not null order by random()
  loop
    perform pg_advisory_xact_lock(hashtext(v_channel.name));
    v_now := lonnymq.epoch();
    v_room := v_channel.max_concurrency - (
      select count(*) from lonnymq.message m where m.channel = v_channel.name and m.token is not null);
    continue when v_room <= 0;
    return query
    update lonnymq.message m
    set token = gen_random_uuid(), lease_until = v_now + p_lease_ms, dequeued_at = v_now,
      attempt = m.attempt + 1, worker = p_worker
    where m.id in (
      select w.id from lonnymq.message w
      where w.channel = v_channel.name and w.token is null and w.dequeue_at <= v_now
      limit least(v_room, p_limit)
      for update skip locked
    )
    returning 'leased', m.id, m.token, m.channel, m.content, m.state, m.attempt, m.kind, m.headers,
      m.key, m.created_at, m.dequeue_at, m.dequeued_at, m.lease_until, null::bigint, '{0,0,0}'::bigint[];
    if found then
      return;
    end if;
  end loop;
  return query select 'empty', null::bigint, null::uuid, null, null::bytea, null::bytea, null::integer,
    null, null::jsonb, null, null::bigint, null::bigint, lonnymq.epoch(), null::bigint,
    lonnymq.epoch() + 20, '{0,0,0}'::bigint[];
end
$$
"""

# A freed slot is counted twice: the channel then takes more than its limit.
COUNTER_MOVED_TWICE = """
create function lonnymq.move_twice() returns trigger language plpgsql as $$
begin
  new.slots := 2 * new.slots;
  new.slot_channels := new.slot_channels || new.slot_channels;
  new.queue_slots := 2 * new.queue_slots;
  return new;
end
$$
"""
MOVE_TWICE = """
create trigger move_twice before insert on lonnymq.change
for each row when (new.slots > 0 or new.slot_channels is not null) execute function lonnymq.move_twice()
"""

# A create that does not wait for its commit to be written.
CREATES_NOT_WAITED_FOR = """
create function lonnymq.relax() returns trigger language plpgsql as $$
begin
  perform set_config('synchronous_commit', 'off', true);
  return null;
end
$$
"""
RELAX = """
create trigger relax after insert on lonnymq.message
for each statement execute function lonnymq.relax()
"""

VARIANTS = {
    "complete without a token": Variant((COMPLETE_WITHOUT_A_TOKEN, COMPLETE_ONE_WITHOUT_A_TOKEN)),
    "a limit inside IN": Variant((LIMIT_INSIDE_IN,)),
    "the counter moved twice": Variant((COUNTER_MOVED_TWICE, MOVE_TWICE)),
    "creates with synchronous_commit off": Variant(
        (CREATES_NOT_WAITED_FOR, RELAX),
        {"wal_writer_delay": "10s", "wal_writer_flush_after": "1GB"},
    ),
    # faults/programs/worker.py has these:
    "never polls": Variant(),
    "completes without running": Variant(),
    "runs handlers twice": Variant(),
}

# Where each is found out, and as what.
REVEALED_BY: dict[str, tuple[str, str]] = {
    "complete without a token": ("zombie", "unfounded"),
    "a limit inside IN": ("limits", "over limit"),
    "the counter moved twice": ("limits", "over limit"),
    "creates with synchronous_commit off": ("durable", "lost"),
    "never polls": ("hints", "late"),
    "completes without running": ("hints", "not run"),
    "runs handlers twice": ("hints", "run twice"),
}

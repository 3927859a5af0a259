"""The textbook multi-tenant queue: a row a channel with its head and its next turn, locked by every call.

Create locks its channel to compare heads, dequeue locks the channel whose turn it is and moves it on, complete gives
the slot back. It works one message a call: its interface has no batches.
"""

from __future__ import annotations

from collections.abc import Sequence

import psycopg

from benchmarks.load_control import LoadControl
from benchmarks.payload import Payload, channel_name, decode, encode
from benchmarks.systems.base import New, System

TABLES = """
create table tenant (
  id bigint generated always as identity primary key,
  name text not null unique,
  running integer not null default 0,
  most_running integer not null default 2147483647,
  served_at bigint not null default 0,
  first_id bigint,
  first_at bigint,
  turn_at bigint
);
create index tenant_turn_ix on tenant (turn_at, id) where first_id is not null and running < most_running;

create table job (
  id bigint generated always as identity primary key,
  tenant_id bigint not null,
  due_at bigint not null,
  content bytea not null
);
create index job_line_ix on job (tenant_id, due_at, id);

create function job_create(p_tenant text, p_content bytea) returns void language plpgsql as $$
declare
  v_now bigint := (extract(epoch from clock_timestamp()) * 1000)::bigint;
  v_tenant tenant;
  v_id bigint;
begin
  select t.* into v_tenant from tenant t where t.name = p_tenant for update;
  if not found then
    insert into tenant (name) values (p_tenant) on conflict (name) do update set name = excluded.name
    returning * into v_tenant;
  end if;
  insert into job (tenant_id, due_at, content) values (v_tenant.id, v_now, p_content) returning id into v_id;
  if v_tenant.first_id is null or v_now < v_tenant.first_at then
    update tenant t set first_id = v_id, first_at = v_now, turn_at = greatest(v_now, t.served_at)
    where t.id = v_tenant.id;
  end if;
end $$;

create function job_take(out tenant text, out content bytea) language plpgsql as $$
declare
  v_now bigint := (extract(epoch from clock_timestamp()) * 1000)::bigint;
  v_tenant tenant;
  v_next job;
begin
  select t.* into v_tenant from tenant t
  where t.first_id is not null and t.running < t.most_running and t.turn_at <= v_now
  order by t.turn_at, t.id limit 1 for update skip locked;
  if not found then
    return;
  end if;
  delete from job j where j.id = v_tenant.first_id returning j.content into content;
  select j.* into v_next from job j where j.tenant_id = v_tenant.id order by j.due_at, j.id limit 1;
  update tenant t set
    running = t.running + 1, served_at = v_now, first_id = v_next.id, first_at = v_next.due_at,
    turn_at = case when v_next.id is not null then greatest(v_next.due_at, v_now) end
  where t.id = v_tenant.id;
  tenant := v_tenant.name;
end $$;

create function job_complete(p_tenant text) returns void language sql
as $$ update tenant set running = running - 1 where name = p_tenant $$;
"""
LOAD = """
with line as (
  insert into job (tenant_id, due_at, content)
  select t.id, 0, n.content from unnest(%s::text[], %s::bytea[]) n (name, content) join tenant t using (name)
  returning tenant_id, id, due_at
), head as (select tenant_id, min(id) as id from line group by tenant_id)
update tenant t set first_id = h.id, first_at = 0, turn_at = t.served_at
from head h where h.tenant_id = t.id and t.first_id is null
"""


class ChannelProducer:
    def __init__(self, dsn: str) -> None:
        self.connection = psycopg.connect(dsn, autocommit=True, prepare_threshold=0)

    def create_one(self, channel: str, message: Payload) -> None:
        self.connection.execute(
            "select job_create(%s, %s)", (channel, encode(message)), binary=True
        )

    def create_many(self, messages: Sequence[New]) -> None:
        """One transaction, channels in the order of their names, or two producers would deadlock."""
        ordered = sorted(messages, key=lambda new: new[0])
        values = ([name for name, _ in ordered], [encode(message) for _, message in ordered])
        self.connection.execute(
            "select count(job_create(n, c)) from unnest(%s::text[], %s::bytea[]) u (n, c)", values
        )

    def close(self) -> None:
        self.connection.close()


class ChannelTable(System):
    name = "channel table"
    has_tenants = True
    notes = "a single message per call for every batch size. No leases, no history"

    def consumers(self, batch: int) -> int:
        return 8

    def install(self, dsn: str) -> None:
        with psycopg.connect(dsn) as connection:
            connection.execute(TABLES)

    def producer(self, dsn: str) -> ChannelProducer:
        return ChannelProducer(dsn)

    def load(self, dsn: str, count: int, channels: int) -> None:
        names = [channel_name(number) for number in range(channels)]
        with psycopg.connect(dsn) as connection:
            insert = "insert into tenant (name) select unnest(%s::text[]) on conflict do nothing"
            connection.execute(insert, (names,))
            for start in range(0, count, 20_000):
                part = range(start, min(start + 20_000, count))
                contents = [encode({"at": 0, "fill": "x" * 230}) for _ in part]
                connection.execute(LOAD, ([names[number % channels] for number in part], contents))

    def consume(self, control: LoadControl, dsn: str, batch: int) -> None:
        with psycopg.connect(dsn, autocommit=True, prepare_threshold=0) as connection:
            control.ready()
            while not control.stopped:
                row = connection.execute(
                    "select tenant, content from job_take()", binary=True
                ).fetchone()
                if row is None or row[0] is None:
                    control.nap()
                    continue
                control.handle(decode(row[1]), row[0])
                connection.execute("select job_complete(%s)", (row[0],))
                control.done()

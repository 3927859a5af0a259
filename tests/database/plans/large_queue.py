"""Fills a queue with many rows quickly: messages by plain SQL, channels by what the engine makes of them."""

from __future__ import annotations

from typing import Any

from psycopg import Connection

DISABLE_AUTOVACUUM = """
do $$
declare
  v_table text;
begin
  for v_table in
    select c.relname from pg_class c
    where c.relnamespace = 'lonnymq'::regnamespace and c.relkind = 'r'
  loop
    execute format('alter table lonnymq.%I set (autovacuum_enabled = off)', v_table);
  end loop;
end
$$
"""


def disable_autovacuum(connection: Connection[Any]) -> None:
    """No vacuum and no analyze but those that the test asks for."""
    connection.execute(DISABLE_AUTOVACUUM)


def add_messages(
    connection: Connection[Any], rows: int, channel: str, at: str = "1000 + i", kind: str = "null"
) -> None:
    """Add messages, and a change per channel. `channel`, `at` and `kind` are SQL over i, from 1."""
    connection.execute(
        "with added as (insert into lonnymq.message (channel, content, dequeue_at, kind)"
        f" select {channel}, 'x', {at}, {kind} from generate_series(1, {rows}) as i"
        " returning channel, dequeue_at, id)"
        " insert into lonnymq.change (channel, dequeue_at, message_id)"
        " select distinct on (channel) channel, dequeue_at, id from added"
        " order by channel, dequeue_at, id"
    )


def fold(connection: Connection[Any]) -> None:
    """Apply all changes."""
    while connection.execute("select 1 from lonnymq.change limit 1").fetchone():
        connection.execute(
            "select lonnymq.fold_run(lonnymq.epoch()) from lonnymq.fold_lock() as is_mine where is_mine"
        )


def lease_all(connection: Connection[Any], lease_ms: int = 2_592_000_000) -> None:
    """Lease until nothing is given any more."""
    query = "select answer, count(*) from lonnymq.message_dequeue(10000, %s) group by answer"
    while connection.execute(query, (lease_ms,)).fetchone() != ("empty", 1):
        pass


def complete_all(connection: Connection[Any]) -> None:
    """Complete whatever is leased."""
    connection.execute(
        "select lonnymq.message_complete(array_agg(b.id), array_agg(b.token)) from ("
        " select id, token, row_number() over () / 5000 as batch from lonnymq.message"
        " where token is not null) b group by b.batch"
    )


def count_pages(connection: Connection[Any], call: str, times: int = 5) -> int:
    """How many pages a call touches, bodies of functions included: the median, after a first one to warm up.

    Nothing is kept of it."""
    seen = []
    for _ in range(times + 1):
        with connection.transaction(force_rollback=True):
            row = connection.execute(
                f"explain (analyze, buffers, format json) select * from lonnymq.{call}".encode()
            ).fetchone()
        plan = row[0][0]["Plan"] if row else {}
        seen.append(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])
    return sorted(seen[1:])[times // 2]

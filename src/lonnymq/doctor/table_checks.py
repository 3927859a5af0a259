"""Checks of the queue's tables: vacuum, dead rows, bloat, transaction ids, sequences."""

from __future__ import annotations

from collections.abc import Iterator

from lonnymq.doctor.base import CheckContext, Problem

UNVACUUMED = """
select c.relname from pg_class c
where c.relnamespace = '{schema}'::regnamespace and c.relkind in ('r', 'p')
  and exists (
    select from unnest(c.reloptions) as o (option)
    where o.option in ('autovacuum_enabled=false', 'autovacuum_enabled=off', 'autovacuum_enabled=no',
      'autovacuum_enabled=0')
  )
order by c.relname
"""
DEAD_ROWS = """
select s.relname, s.n_dead_tup, s.n_live_tup
from pg_stat_user_tables s
where s.schemaname = '{schema}' and s.n_dead_tup > %s and s.n_dead_tup > 2 * s.n_live_tup
order by s.n_dead_tup desc
"""
SEQUENCES = """
select s.sequencename, s.last_value, s.max_value from pg_sequences s
where s.schemaname = '{schema}' and s.last_value > s.max_value / 2
order by s.sequencename
"""
BLOATED = """
select s.relname, pg_relation_size(s.relid), s.n_live_tup
from pg_stat_user_tables s
where s.schemaname = '{schema}' and pg_relation_size(s.relid) > %s
  and s.n_live_tup * 5 < pg_relation_size(s.relid) / current_setting('block_size')::integer
order by 2 desc
"""
XID_AGE = """
select greatest(age(d.datfrozenxid), mxid_age(d.datminmxid)), quote_ident(d.datname)
from pg_database d where d.datname = current_database()
"""
# PostgreSQL stops accepting writes at 2.1 billion, and vacuum leaves everything else aside from 1.6 billion on.
MAX_XID_AGE = 1_000_000_000
BROKEN_XID_AGE = 1_600_000_000
MIN_DEAD_ROWS = 50_000
MIN_BLOATED_BYTES = 256 * 1024 * 1024


def check_autovacuum(context: CheckContext) -> Iterator[Problem]:
    """Every message leaves dead rows. Without autovacuum the tables grow."""
    if context.setting("autovacuum") == "off":
        yield Problem(
            "autovacuum",
            "broken",
            "autovacuum is off: every message leaves dead rows, and nothing removes them.",
            "alter system set autovacuum = on; select pg_reload_conf();",
        )
    if context.setting("track_counts") == "off":
        yield Problem(
            "autovacuum",
            "broken",
            "track_counts is off: autovacuum does not know which tables have dead rows.",
            "alter system set track_counts = on; select pg_reload_conf();",
        )
    for (table,) in context.rows(UNVACUUMED):
        yield Problem(
            "autovacuum",
            "broken",
            f"autovacuum is off for table {context.schema}.{table}: nothing removes its dead rows.",
            f"alter table {context.schema}.{table} reset (autovacuum_enabled);",
        )


def check_dead_rows(context: CheckContext) -> Iterator[Problem]:
    """More dead rows than live rows: vacuum is too slow, or something prevents vacuum."""
    for table, dead, live in context.rows(DEAD_ROWS, MIN_DEAD_ROWS):
        yield Problem(
            "dead rows",
            "warning",
            f"Table {context.schema}.{table} has {dead:,} dead rows and {live:,} live rows. Vacuum is too "
            "slow, or something prevents vacuum (see the other problems).",
            f"vacuum {context.schema}.{table};",
        )


def check_bloat(context: CheckContext) -> Iterator[Problem]:
    """A table of mostly empty pages takes disk space, and slows down dumps and vacuums."""
    for table, size, live in context.rows(BLOATED, MIN_BLOATED_BYTES):
        yield Problem(
            "bloat",
            "note",
            f"Table {context.schema}.{table} takes {size / 1024**2:,.0f} MiB for {live:,} rows, after a large "
            "backlog or an old snapshot. New messages use the space again, and dequeues do not read empty "
            "pages. The fix locks the table.",
            f"vacuum full {context.schema}.{table};",
        )


def check_sequences(context: CheckContext) -> Iterator[Problem]:
    """When a sequence reaches its end, nobody can create messages."""
    for name, last, most in context.rows(SEQUENCES):
        yield Problem(
            "sequences",
            "warning",
            f"Sequence {context.schema}.{name} is at {last:,} of {most:,}. At the end nobody can create messages.",
            f"select setval('{context.schema}.{name}', 1); -- only if no row uses the low ids any more",
        )


def check_xid_age(context: CheckContext) -> Iterator[Problem]:
    """PostgreSQL accepts no writes when transaction ids run out, unless vacuum has frozen old rows."""
    [(age, database)] = context.rows(XID_AGE)
    if age > MAX_XID_AGE:
        yield Problem(
            "transaction id age",
            "broken" if age > BROKEN_XID_AGE else "warning",
            f"The oldest transaction id of database {database} is {age:,} transactions old. At 2.1 billion PostgreSQL "
            "accepts no writes. End held snapshots, prepared transactions and unused replication slots first.",
            "vacuum (freeze);",
        )

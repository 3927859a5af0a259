"""The queue's tables: vacuum, dead rows, sequences, indexes."""

from __future__ import annotations

from collections.abc import Iterator

from lonnymq.doctor.finding import Finding
from lonnymq.doctor.patient import Patient

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
INVALID = """
select i.indexrelid::regclass::text from pg_index i
join pg_class c on c.oid = i.indexrelid
where c.relnamespace = '{schema}'::regnamespace and not (i.indisvalid and i.indisready)
  and c.relkind = 'i'
order by 1
"""
BLOATED = """
select s.relname, pg_relation_size(s.relid), s.n_live_tup
from pg_stat_user_tables s
where s.schemaname = '{schema}' and pg_relation_size(s.relid) > %s
  and s.n_live_tup * 5 < pg_relation_size(s.relid) / current_setting('block_size')::integer
order by 2 desc
"""
MANY_DEAD = 50_000
LARGE_BYTES = 256 * 1024 * 1024


def autovacuum(patient: Patient) -> Iterator[Finding]:
    """Every message leaves dead rows; without autovacuum the tables only grow."""
    if patient.setting("autovacuum") == "off":
        yield Finding(
            "autovacuum",
            "broken",
            "autovacuum is off: every message leaves dead rows, and nothing takes them away.",
            "alter system set autovacuum = on; select pg_reload_conf();",
        )
    if patient.setting("track_counts") == "off":
        yield Finding(
            "autovacuum",
            "broken",
            "track_counts is off: autovacuum does not know where to work.",
            "alter system set track_counts = on; select pg_reload_conf();",
        )
    for (table,) in patient.rows(UNVACUUMED):
        yield Finding(
            "autovacuum",
            "broken",
            f"autovacuum is off for table {patient.schema}.{table}: its dead rows are never taken away.",
            f"alter table {patient.schema}.{table} reset (autovacuum_enabled);",
        )


def dead_rows(patient: Patient) -> Iterator[Finding]:
    """Dead rows that outnumber the living mean that vacuum does not keep up, or is kept from it."""
    for table, dead, live in patient.rows(DEAD_ROWS, MANY_DEAD):
        yield Finding(
            "dead rows",
            "warning",
            f"Table {patient.schema}.{table} has {dead:,} dead rows beside {live:,} live ones: vacuum does not keep "
            "up, or something keeps them alive (see the other findings).",
            f"vacuum {patient.schema}.{table};",
        )


def bloat(patient: Patient) -> Iterator[Finding]:
    """A table of empty pages: it will be filled again, but until then it takes room, and dumps and vacuums time."""
    for table, size, live in patient.rows(BLOATED, LARGE_BYTES):
        yield Finding(
            "bloat",
            "note",
            f"Table {patient.schema}.{table} takes {size / 1024**2:,.0f} MiB for {live:,} rows, after a backlog that "
            "is gone or a snapshot that was held: the room is used again, and dequeues do not read it.",
            f"vacuum full {patient.schema}.{table}; -- locks it: in a quiet hour",
        )


def sequences(patient: Patient) -> Iterator[Finding]:
    """A sequence at its end stops every create."""
    for name, last, most in patient.rows(SEQUENCES):
        yield Finding(
            "sequences",
            "warning",
            f"Sequence {patient.schema}.{name} stands at {last:,} of {most:,}: at its end nothing can be created.",
            f"select setval('{patient.schema}.{name}', 1); -- once no row has an id that is to come again",
        )


def indexes(patient: Patient) -> Iterator[Finding]:
    """An invalid index is not used, and every call that wants it reads the whole table."""
    for (index,) in patient.rows(INVALID):
        yield Finding(
            "indexes",
            "broken",
            f"Index {index} is invalid, left by a reindex or a restore that failed: it is not used.",
            f"reindex index {index};",
        )

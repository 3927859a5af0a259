"""Writes src/lonnymq/sql/install/indexes.sql, the indexes and keys that the migrations give: `make reference`."""

from __future__ import annotations

from pathlib import Path

from psycopg import connect

from lonnymq import install
from lonnymq.client.installation import quoted
from lonnymq.embedded_postgres import temporary

FILE = Path(__file__).parents[1] / "src" / "lonnymq" / "sql" / "install" / "indexes.sql"
OPENING = """\
-- The indexes and keys that the migrations give. scripts/make_indexes.py writes this file, and a test compares the
-- file with a new queue. The installer brings back what is missing, and the doctor tells of it.
-- Days of history have the indexes of their parent.
-- noqa: disable=LT05
select i.relation, i.name, i.is_key, i.definition
from (
  values
"""
CLOSING = "\n) as i (relation, name, is_key, definition)\n"
INDEXES = """
select t.relname, c.relname, k.oid is not null, coalesce(pg_get_constraintdef(k.oid),
  replace(pg_get_indexdef(c.oid), ' ON ONLY ', ' ON '))
from pg_index i
join pg_class c on c.oid = i.indexrelid
join pg_class t on t.oid = i.indrelid
left join pg_constraint k on k.conindid = c.oid and k.contype in ('p', 'u')
where c.relnamespace = 'lonnymq'::regnamespace and not c.relispartition and t.relname !~ '^(stage|history)_[0-9]+$'
order by t.relname collate "C", c.relname collate "C"
"""


def render_indexes(dsn: str) -> str:
    """The file, as a newly installed queue has the indexes."""
    with connect(dsn) as connection:
        rows = [
            f"  ({quoted(table)}, {quoted(name)}, {str(is_key).lower()},\n    {quoted(definition)})"
            for table, name, is_key, definition in connection.execute(INDEXES)
        ]
    return OPENING + ",\n".join(rows) + CLOSING


def main() -> None:
    """Write the file."""
    with temporary() as server:
        FILE.write_text(
            f"{OPENING}  ('none', 'none', false, 'none'){CLOSING}"
        )  # leave all to the migrations
        install(server.dsn)
        FILE.write_text(render_indexes(server.dsn))


if __name__ == "__main__":
    main()

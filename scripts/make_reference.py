"""Writes docs/reference.md from the installed functions and the comments above them: `make reference`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from textwrap import fill
from typing import Any

from psycopg import Connection, connect

from lonnymq import install
from lonnymq.client.calls import DESCRIPTIONS
from lonnymq.client.installation import sql_files
from lonnymq.embedded_postgres import temporary

PAGE = Path(__file__).parents[1] / "docs" / "reference.md"
PARTS = {
    "channel": "Channels",
    "message": "Messages",
    "dead": "Dead messages",
    "schedule": "Schedules",
    "worker": "Workers",
    "producer": "Producers",
    "queue": "The queue",
    "history": "History",
    "epoch": "The clock",
    "sample": "Samples",
    "audit": "The audit",
    "load": "Loads of Spark",
    "stage": "Stages of loads",
    "stream": "Streams of Spark",
    "claim": "Claims of streams",
}
WIDTH = 100
UNBROKEN = "\N{NO-BREAK SPACE}"
OPENING = """\
# Reference of the SQL functions

The functions are in the queue's schema, `lonnymq` unless it was installed in another.
Times are epoch milliseconds of the database's clock, durations are milliseconds.
Arguments may be given by name: `lonnymq.message_create('acme', 'hello', p_delay_ms => 60000)`.
`make reference` writes this page from the functions' own comments.
"""
INSIDE = """
## Inside

These are called by the functions above; their names and arguments may change with any release.
"""
TABLE = """
| function | what it does |
| --- | --- |
"""
FUNCTIONS = """
select p.proname as name, p.proretset as is_set,
  obj_description(p.oid, 'pg_proc') as comment,
  array(
    select format('%s %s%s', a.name, format_type(a.type, null), case
      when a.number > p.pronargs - p.pronargdefaults
        then ' default ' || pg_get_function_arg_default(p.oid, a.number::integer) else '' end)
    from arguments a where a.oid = p.oid and a.mode = 'i' order by a.number
  ) as takes,
  array(
    select a.name || ' ' || format_type(a.type, null)
    from arguments a where a.oid = p.oid and a.mode in ('o', 't') order by a.number
  ) as columns,
  format_type(p.prorettype, null) as type
from pg_proc p
where p.pronamespace = 'lonnymq'::regnamespace
order by p.proname, cardinality(p.proargtypes::oid[]) , p.oid::regprocedure::text desc
"""
ARGUMENTS = """
create temporary view arguments as
select p.oid, a.type, a.number, p.proargnames[a.number] as name,
  coalesce(p.proargmodes[a.number], 'i') as mode
from pg_proc p
cross join unnest(coalesce(p.proallargtypes, p.proargtypes::oid[]))
  with ordinality as a (type, number)
where p.pronamespace = 'lonnymq'::regnamespace
"""


@dataclass(frozen=True)
class Function:
    """One function as the database knows it."""

    name: str
    is_set: bool
    comment: str
    takes: list[str]
    columns: list[str]
    type: str

    @property
    def signature(self) -> str:
        """How it is called and what it returns."""
        arguments = [plain(each) for each in self.takes]
        line = f"{self.name}({', '.join(arguments)})"
        if len(line) > WIDTH:
            line = f"{self.name}(\n  " + ",\n  ".join(arguments) + "\n)"
        return f"{line}\n  returns {self.returns}"

    @property
    def returns(self) -> str:
        """The type, or the columns of a row or of many."""
        if not self.columns:
            return self.type
        kind = "rows" if self.is_set else "one row"
        columns = ", ".join(each.replace(" ", UNBROKEN) for each in self.columns)
        lines = fill(f"{kind} ({columns})", WIDTH - 10, subsequent_indent="    ")
        return lines.replace(UNBROKEN, " ")


def plain(argument: str) -> str:
    """An argument with its default as people write it."""
    return re.sub(r"NULL::[\w\[\] ]+", "null", re.sub(r"'([^']*)'::\w+", r"'\1'", argument))


def functions(connection: Connection[Any]) -> list[Function]:
    """All functions of the queue, by name."""
    connection.execute(ARGUMENTS)
    return [Function(*row) for row in connection.execute(FUNCTIONS)]


def is_public(name: str) -> bool:
    """Whether it is described: the others are the engine's own."""
    return name in roles()


@cache
def roles() -> dict[str, tuple[str, ...]]:
    """The public functions, and the roles that may execute each."""
    return {each.function: each.roles for each in DESCRIPTIONS.values()}


def essay(source: str) -> str:
    """What stands above a function: its paragraphs, then its answers, locks and notifications as a list."""
    head = re.match(r"((?:--.*\n)+)", source)
    lines = [line[2:].removeprefix(" ") for line in head[1].splitlines()] if head else []
    paragraphs: list[str] = []
    for line in lines:
        label = re.match(r"(Answers|Locks|Notifies|Options): ", line)
        if label:
            paragraphs.append(f"- **{label[1].lower()}**: {line[label.end() :]}")
        elif not line:
            paragraphs.append("")
        elif paragraphs and paragraphs[-1]:
            paragraphs[-1] += f" {line.strip()}"
        else:
            paragraphs.append(line.strip())
    return "\n".join(sentences(each) for each in paragraphs).strip()


def sentences(paragraph: str) -> str:
    """One sentence a line; what belongs to a point of a list stays under it."""
    indent = "  " if paragraph.startswith("- ") else ""
    return f"\n{indent}".join(re.split(r"(?<=\.) (?=[A-Z])", paragraph))


def page(connection: Connection[Any]) -> str:
    """The whole page."""
    known, sources = functions(connection), sql_files("functions")
    public = [each for each in known if is_public(each.name)]
    inside = [each for each in known if not is_public(each.name)]
    parts = [OPENING, TABLE, *rows(public)]
    for prefix, title in PARTS.items():
        parts.append(f"\n## {title}\n")
        mine = [each for each in public if each.name.split("_")[0] == prefix]
        for name, forms in groupby(mine, key=lambda each: each.name):
            parts.append(entry(name, list(forms), sources[name]))
    return "".join([*parts, INSIDE, TABLE, *rows(inside)])


def rows(listed: list[Function]) -> list[str]:
    """A line of a table for each function; the form for many speaks for the form for one."""
    links = {each.name: f"[`{each.name}`](#{each.name})" for each in listed if is_public(each.name)}
    comments = {each.name: each.comment for each in listed}
    return [f"| {links.get(name, f'`{name}`')} | {said} |\n" for name, said in comments.items()]


def entry(name: str, forms: list[Function], source: str) -> str:
    """One function with all its forms."""
    signatures = "\n".join(each.signature for each in forms)
    allowed = f"- **roles**: {', '.join(roles()[name]) or 'the owner only'}"
    return f"\n### {name}\n\n```text\n{signatures}\n```\n\n{essay(source)}\n{allowed}\n"


def main() -> None:
    """Write the page."""
    with temporary() as server:
        install(server.dsn)
        with connect(server.dsn) as connection:
            PAGE.write_text(page(connection))


if __name__ == "__main__":
    main()

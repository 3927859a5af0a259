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
    "message": ("Messages", "create, lease, settle, cancel and inspect messages"),
    "channel": ("Channels", "set policies, pause, resume and retire channels, show their state"),
    "group": ("Groups", "create a message when all members of a group have ended"),
    "dead": ("Dead messages", "list, redrive and delete messages without attempts left"),
    "schedule": ("Schedules", "create messages at the times of a cron line or an interval"),
    "worker": ("Workers", "record and list workers"),
    "producer": ("Producers", "restrict logins to some channels"),
    "queue": ("The queue", "set options, run maintenance, check and repair the queue"),
    "history": ("History", "read ended attempts, in order and without gaps"),
    "kind": ("Kinds", "show the kinds of messages, and the workers that take them"),
    "attempt": ("Attempts", "show outcomes and durations, by channel and by kind"),
    "epoch": ("The clock", "read the time of the database"),
    "sample": ("Samples", "read samples for charts"),
    "audit": ("The audit log", "record and list actions of users"),
    "load": ("Spark loads", "publish rows of many Spark tasks together, once"),
    "stage": ("Spark stages", "hold the rows of a load until the load is published"),
    "stream": ("Spark streams", "own the reading side of a Spark stream"),
    "claim": ("Spark claims", "lease and settle batches of messages for a stream"),
}
WIDTH = 100
UNBROKEN = "\N{NO-BREAK SPACE}"
OPENING = """\
# Reference of the SQL functions

The functions are in the schema of your queue. The default schema is `lonnymq`.
Times are epoch milliseconds of the database's clock, and durations are milliseconds.
You can give arguments by name: `lonnymq.message_create('acme', 'hello', p_delay_ms => 60000)`.
*Answers* are the possible results, *locks* the rows that a call locks, and *notifies* tells whether waiting workers
are notified. *Roles* are the [roles](security.md#roles) that may execute the function.
`make reference` writes this page from the comments of the functions.

| section | functions to |
| --- | --- |
"""
TABLE = """
| function | does |
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
        if line.startswith("- "):
            paragraphs.append(line)
        elif label:
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
    parts = [OPENING]
    for title, purpose in PARTS.values():
        parts.append(f"| [{title}](#{title.lower().replace(' ', '-')}) | {purpose} |\n")
    for prefix, (title, _) in PARTS.items():
        mine = [
            each for each in known if is_public(each.name) and each.name.split("_")[0] == prefix
        ]
        parts += [f"\n## {title}\n", TABLE, *rows(mine)]
        for name, forms in groupby(mine, key=lambda each: each.name):
            parts.append(entry(name, list(forms), sources[name]))
    return "".join(parts)


def rows(listed: list[Function]) -> list[str]:
    """A line of a table for each function; the form for many speaks for the form for one."""
    comments = {
        each.name: each.comment
        for each in sorted(listed, key=lambda each: (each.name, each.is_set))
    }
    return [f"| [`{name}`](#{name}) | {comment} |\n" for name, comment in comments.items()]


def entry(name: str, forms: list[Function], source: str) -> str:
    """One function with all its forms."""
    signatures = "\n".join(each.signature for each in forms)
    allowed = f"**roles**: {', '.join(roles()[name]) or 'the owner only'}"
    return f"\n### {name}\n\n```text\n{signatures}\n```\n\n{allowed}\n\n{essay(source)}\n"


def main() -> None:
    """Write the page."""
    with temporary() as server:
        install(server.dsn)
        with connect(server.dsn) as connection:
            PAGE.write_text(page(connection))


if __name__ == "__main__":
    main()

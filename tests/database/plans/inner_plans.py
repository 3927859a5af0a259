"""The plans of the statements inside a function, as the server made them: by auto_explain, or by debug_print_plan.

Debian's PostgreSQL has auto_explain, which also tells how many rows each scan read. The embedded one is built without
it, but every server prints the plan tree of each statement that it plans, nested ones too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from psycopg import Connection
from psycopg.errors import Diagnostic

SCANS = ("SEQSCAN", "INDEXSCAN", "INDEXONLYSCAN", "BITMAPHEAPSCAN", "TIDSCAN", "SAMPLESCAN")
PASSING = ("LOCKROWS", "RESULT", "SUBQUERYSCAN")
EXPLAINED = """
load 'auto_explain';
set auto_explain.log_min_duration = 0;
set auto_explain.log_nested_statements = on;
set auto_explain.log_analyze = on;
set auto_explain.log_timing = off;
set auto_explain.log_format = json;
set client_min_messages = log;
"""
PRINTED = "set debug_print_plan = on; set debug_pretty_print = off; set client_min_messages = log"


@dataclass(frozen=True)
class Scan:
    """One scan of one table in one statement."""

    relation: str
    node: str
    index: str
    is_bounded: bool
    rows: int
    statement: str

    def __str__(self) -> str:
        return f"{self.node} of {self.relation} by {self.index or 'itself'}, {self.rows} rows: {self.statement}"


def read_log(connection: Connection[Any], settings: str, call: str) -> list[tuple[str, str]]:
    """What the server says while it runs a call, of which nothing is kept."""
    notes: list[tuple[str, str]] = []

    def hear(note: Diagnostic) -> None:
        notes.append((note.message_primary or "", note.message_detail or ""))

    connection.execute(settings.encode())
    connection.add_notice_handler(hear)
    with connection.transaction(force_rollback=True):
        connection.execute(call.encode())
    connection.remove_notice_handler(hear)
    return notes


def explained(connection: Connection[Any], call: str) -> list[Scan]:
    """The scans of a call and of everything inside it, by auto_explain. Nothing is kept of the call."""
    texts = [text for text, _ in read_log(connection, EXPLAINED, call)]
    plans = [json.loads(text[text.index("{") :]) for text in texts if "plan:" in text]
    return [
        scan
        for plan in plans
        for scan in scans_of(plan["Plan"], " ".join(plan["Query Text"].split()))
    ]


def scans_of(node: dict[str, Any], statement: str, is_limited: bool = False) -> Iterator[Scan]:
    """The scans below a node. Bounded is what has a condition, or stands under a limit."""
    kind = node["Node Type"]
    if "Relation Name" in node and kind != "ModifyTable":
        conditions = ("Index Cond", "TID Cond", "Recheck Cond")
        read = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
        yield Scan(
            node["Relation Name"],
            kind,
            node.get("Index Name", ""),
            is_limited or any(condition in node for condition in conditions),
            read * node["Actual Loops"],
            statement,
        )
    passes = kind.upper().replace(" ", "") in PASSING
    for child in node.get("Plans", ()):
        yield from scans_of(child, statement, kind == "Limit" or (is_limited and passes))


def printed(connection: Connection[Any], call: str) -> list[Scan]:
    """The same by debug_print_plan, which prints what is planned: for the first call of a session."""
    names = dict(connection.execute("select oid::bigint, relname from pg_class").fetchall())
    trees = [tree for title, tree in read_log(connection, PRINTED, call) if title == "plan:"]
    return [scan for tree in trees for scan in printed_scans(tree, names)]


def printed_scans(tree: str, names: dict[int, str]) -> Iterator[Scan]:
    """The scans of one plan tree; its range table says which relation each is of."""
    tree = " ".join(tree.split())
    table = tree[tree.rindex(":rtable ") :]
    entries = re.findall(r"\{RANGETBLENTRY .*?:rtekind (\d+)(?: :relid (\d+))?", table)
    parents: list[str] = []
    for brace in re.finditer(r"(?<!\\)(?:\{(\w+)|\})", tree):
        if brace[1] in SCANS:
            place = re.compile(r":scan\.scanrelid (\d+)([^{]*)").search(tree, brace.end())
            kind, relation = entries[int(place[1]) - 1] if place else ("", "")
            if place and kind == "0":
                above = next((each for each in reversed(parents) if each not in PASSING), "")
                has_condition = re.search(r":(indexqual|tidquals|bitmapqualorig) \(", place[2])
                is_bounded = above == "LIMIT" or bool(has_condition)
                index = re.search(r":indexid (\d+)", place[2])
                yield Scan(
                    names.get(int(relation), relation),
                    brace[1],
                    names[int(index[1])] if index else "",
                    is_bounded,
                    0,
                    "printed",
                )
        if brace[1]:
            parents.append(brace[1])
        else:
            parents.pop()

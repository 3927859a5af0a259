"""Copies the table of grants, src/lonnymq/sql/install/grants.sql, into docs/security.md: part of `make reference`."""

from __future__ import annotations

import re
from pathlib import Path

from lonnymq.client.installation import sql_files

PAGE = Path(__file__).parents[1] / "docs" / "security.md"
BEGIN, END = "<!-- grants -->\n", "<!-- end of grants -->\n"
ROW = re.compile(r"^\s+\('(\w+)', '(owner|caller)', '\{([\w,]*)\}'", re.MULTILINE)
ROLES = ("producer", "consumer", "viewer", "admin")


def table() -> str:
    """The grants as a table: a function a line, a column a role."""
    lines = [
        "| function |" + "".join(f" {role} |" for role in ROLES),
        "| --- |" + " --- |" * len(ROLES),
    ]
    for function, _, granted in ROW.findall(sql_files("install")["grants"]):
        roles = granted.split(",")
        marks = "".join(f" {'x' if role in roles else ''} |".replace("  ", " ") for role in ROLES)
        lines.append(f"| `{function}` |{marks}")
    return "\n".join(lines) + "\n"


def page() -> str:
    """The page with the table in its place."""
    head, rest = PAGE.read_text().split(BEGIN)
    return f"{head}{BEGIN}\n{table()}\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    PAGE.write_text(page())

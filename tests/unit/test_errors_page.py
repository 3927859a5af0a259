"""docs/errors.md lists every exception of the library with its SQLSTATE, and its docstring as the advice."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from lonnymq.errors import BY_SQLSTATE

ROOT = Path(__file__).parents[2]
BASES = {"LonnyMQError", "InvalidArgument"}
ROW = re.compile(r"^\| `(\w+)` \| (.*?) \| (.*) \|$", re.MULTILINE)


def rows() -> list[tuple[str, str, str]]:
    """The rows of the page's tables: the exception, its code or meaning, the advice."""
    return ROW.findall((ROOT / "docs" / "errors.md").read_text())


def exceptions() -> dict[str, str]:
    """Every exception of the library and its docstring. The modules are parsed, as some need an extra."""
    found = {}
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and BASES & {
                ast.unparse(each) for each in node.bases
            }:
                found[node.name] = " ".join((ast.get_docstring(node) or "").split())
    return found


def test_the_page_has_every_exception_with_its_advice() -> None:
    assert {name: advice for name, _, advice in rows()} == exceptions()


def test_the_page_has_every_code_beside_its_exception() -> None:
    shown = {code: name for name, codes, _ in rows() for code in re.findall(r"`(\w{5})`", codes)}
    assert shown == {code: kind.__name__ for code, kind in BY_SQLSTATE.items()}


def test_every_code_that_the_functions_raise_has_an_exception() -> None:
    functions = (ROOT / "src/lonnymq/sql").rglob("*.sql")
    raised = {code for path in functions for code in re.findall(r"'(LM\d{3})'", path.read_text())}
    assert raised == {code for code in BY_SQLSTATE if code.startswith("LM")}

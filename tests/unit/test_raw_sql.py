"""Outside the client nobody writes a call of a public SQL function: the descriptions of the client build all calls."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import lonnymq
from lonnymq.client.calls import DESCRIPTIONS

SOURCE = Path(lonnymq.__file__).parent
FUNCTIONS = {each.function for each in DESCRIPTIONS.values()}
CALL = re.compile(rf"(?:\.|^)({'|'.join(sorted(FUNCTIONS, key=len, reverse=True))})\(")
# The clock of the queue, in queries of tables and in errors about the clock. The pytest plugin replaces the clock.
CLOCK = "epoch"
# Signatures that are looked up in the catalog, and not called.
SIGNATURES = {".producer_list()", ".history_snapshot()"}


def files() -> list[Path]:
    return [each for each in sorted(SOURCE.rglob("*.py")) if SOURCE / "client" not in each.parents]


def texts(tree: ast.AST) -> Iterator[str]:
    """The string literals, apart from docstrings."""
    documents = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant))
    for node in constants:
        if isinstance(node.value, str) and id(node) not in documents:
            yield node.value


def raw_calls(source: str) -> list[str]:
    """The public functions that are called by SQL text, or described a second time."""
    tree = ast.parse(source)
    found = [
        name
        for text in texts(tree)
        for name in CALL.findall(text)
        if name != CLOCK and not any(each in text for each in SIGNATURES if name in each)
    ]
    return found + [function for name, function, _ in named_calls(tree) if name in BUILDERS]


BUILDERS = {"statement", "scalar", "call"}  # of lonnymq.client.call


def named_calls(tree: ast.AST) -> Iterator[tuple[str, str, int]]:
    """Calls whose second argument is the name of a public function: who is called, the name, the other arguments."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and len(node.args) > 1:
            second = node.args[1]
            if isinstance(second, ast.Constant) and second.value in FUNCTIONS:
                called = node.func.attr if isinstance(node.func, ast.Attribute) else node.func
                yield getattr(called, "id", str(called)), str(second.value), len(node.args) - 2


def test_only_the_client_calls_public_functions_by_sql() -> None:
    found = {str(each.relative_to(SOURCE)): raw_calls(each.read_text()) for each in files()}
    assert {name: calls for name, calls in found.items() if calls} == {}


def test_reads_by_arrow_give_the_arguments_of_the_description() -> None:
    given = {
        (function, count)
        for each in files()
        for name, function, count in named_calls(ast.parse(each.read_text()))
        if name == "function_source"
    }
    described = {(name, len(DESCRIPTIONS[name].parameters)) for name, _ in given}
    assert given == described != set()


def test_raw_calls_are_found() -> None:
    assert raw_calls('run(f"select * from {schema}.channel_stats(%s)")') == ["channel_stats"]
    assert raw_calls("run(\"select lonnymq.message_purge('a')\")") == ["message_purge"]
    assert raw_calls('statement(schema, "message_fail", "bigint", "r")') == ["message_fail"]
    assert raw_calls('"""Calls lonnymq.channel_stats()."""\nqueue.channel_stats()') == []

"""Writes the methods of AsyncQueue and the table of grants from the descriptions in `lonnymq.client.calls`.

    python scripts/make_methods.py [--check]

`make client` runs this script and then `make_sync.py`.
With `--check` nothing is written, and the exit status tells whether a file differs.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable

from make_sync import CLIENT, formatted, write_or_compare

from lonnymq.client import arguments
from lonnymq.client.calls import DESCRIPTIONS
from lonnymq.client.describe import Description, Roles

METHODS = CLIENT / "_async" / "methods.py"
GRANTS = CLIENT.parent / "sql" / "install" / "grants.sql"
HEAD = '''\
"""The methods of AsyncQueue that are one call each. scripts/make_methods.py writes this file: do not edit it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from lonnymq import results
from lonnymq.client import calls
from lonnymq.client._async.base import AsyncBase
from lonnymq.client.arguments import Bytes, Duration, Moment


class AsyncMethods(AsyncBase):
    """One method a SQL function."""
'''
USING = inspect.Parameter("using", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="Any")
GRANTS_HEAD = """\
-- Who may call which function, and with whose rights it runs. scripts/make_methods.py writes this file from the
-- descriptions in src/lonnymq/client/calls. The installer applies it, docs/security.md shows it, a test compares it
-- with the privileges of a server.
-- A function that is not in it belongs to the inside: only its owner calls it.
--   caller   needs no rights of the owner's: it reads no table, and is written into the queries that call it
select g.function, g.runs_as, g.roles
from (
  values
"""
GRANTS_END = ") as g (function, runs_as, roles)\n"


def methods_text() -> str:
    """The module of methods."""
    described = [each for each in DESCRIPTIONS.values() if each.has_method]
    return formatted(HEAD + "".join(map(method_text, described)))


def method_text(described: Description) -> str:
    """One method."""
    given = [each.replace(annotation=python_type(each.annotation)) for each in described.parameters]
    shown = [str(each) for each in with_star([*given, USING] if described.takes_using else given)]
    passed = [
        each.name if each.kind is not each.KEYWORD_ONLY else f"{each.name}={each.name}"
        for each in given
    ]
    call = f"calls.{described.name}({', '.join(['self.schema', *passed])})"
    run = f"self._run({call}, using)" if described.takes_using else f"self._run({call})"
    return f'''
    async def {described.method}({", ".join(["self", *shown])}) -> {answer_type(described)}:
        """{described.written.__doc__}"""
        return await {run}
'''


def with_star(parameters: Iterable[inspect.Parameter]) -> list[str]:
    """The parameters as they are written, with a star before the first that is given by name."""
    shown: list[str] = []
    for each in parameters:
        if each.kind is each.KEYWORD_ONLY and "*" not in shown:
            shown.append("*")
        default = "" if each.default is each.empty else f" = {number(each.default)}"
        shown.append(f"{each.name}: {each.annotation}{default}")
    return shown


def number(value: object) -> str:
    """A default as people write it."""
    return f"{value:_}" if type(value) is int and value >= 10_000 else repr(value).replace("'", '"')


def python_type(annotation: str) -> str:
    """The annotation of a description, in types that a user of the methods knows."""

    def plain(word: re.Match[str]) -> str:
        marks = getattr(getattr(arguments, word[0], None), "__metadata__", None)
        return marks[0].python if marks else word[0]

    return re.sub(r"[\w.]+", plain, annotation.replace("check.", ""))


def answer_type(described: Description) -> str:
    """The type of the answer."""
    written = str(inspect.signature(described.written).return_annotation)
    return re.sub(r"^Call\[(.*)\]$", r"\1", written)


def grants_text() -> str:
    """The table of grants."""
    granted: dict[str, tuple[str, Roles]] = {}
    for each in DESCRIPTIONS.values():
        granted[each.function] = (each.runs_as, each.roles)
    rows = [
        f"  ('{function}', '{runs_as}', '{{{','.join(roles)}}}')"
        for function, (runs_as, roles) in sorted(granted.items())
    ]
    rows[0] = f"{rows[0][:-1]}::text[])"
    return GRANTS_HEAD + ",\n".join(rows) + "\n" + GRANTS_END


def main() -> int:
    """Write the files, or compare them."""
    return write_or_compare({METHODS: methods_text(), GRANTS: grants_text()})


if __name__ == "__main__":
    sys.exit(main())

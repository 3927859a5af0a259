"""The page's modules and styles as one file each, joined when the server starts: a browser asks twice, not sixty times.

A module becomes a function that is called once, after those that it imports; it gives back what the module exports.
Of JavaScript this knows the forms of import and export that the page's files have, and refuses all others.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping

IMPORT = re.compile(r'^import\s*(?P<what>\{[^}]*\}|\w+)\s*from\s*"(?P<place>[^"]+)";?', re.M)
PASSED_ON = re.compile(r'^export\s*\{(?P<names>[^}]*)\}\s*from\s*"(?P<place>[^"]+)";?', re.M)
DECLARED = re.compile(
    r"^export\s+(?P<rest>(?:const|class|(?:async\s+)?function)\s+(?P<name>\w+))", re.M
)
LISTED = re.compile(r"\bexport\s*\{(?P<names>[^}]*)\};?\s*\Z")
DEFAULT = re.compile(r"\bexport\s+default\b")
UNKNOWN = re.compile(r"^\s*(?:import|export)\b.*|^.*\bimport\s*(?:\(|\.\s*meta\b).*", re.M)


class CannotJoin(Exception):
    """A file imports or exports in a way that is not known here: write it as the other files do."""


def joined_modules(files: Mapping[str, str], first: str) -> str:
    """The module `first` and all that it needs as one module."""
    modules = (f'modules["{name}"] = {module(name, files[name])};' for name in order(files, first))
    return "\n\n".join(["const modules = {};", *modules, ""])


def order(files: Mapping[str, str], first: str) -> list[str]:
    """All modules that `first` needs and itself, each after those that it imports."""
    done: list[str] = []

    def visit(name: str, above: tuple[str, ...]) -> None:
        if name in above:
            raise CannotJoin(f"modules import each other: {' → '.join((*above, name))}")
        if name not in done:
            for needed in imports(name, files[name]):
                visit(needed, (*above, name))
            done.append(name)

    visit(first, ())
    return done


def imports(name: str, text: str) -> list[str]:
    """The modules that a module names."""
    return [
        path(name, found["place"])
        for pattern in (IMPORT, PASSED_ON)
        for found in pattern.finditer(text)
    ]


def path(name: str, place: str) -> str:
    """Where a module is that another names."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), place))


def module(name: str, text: str) -> str:
    """A module as a function that was called."""
    exported: list[str] = []

    def imported(found: re.Match[str]) -> str:
        what = found["what"]
        wanted = renamed(what.strip("{}")) if what.startswith("{") else [("default", what)]
        return f"const {{ {fields(wanted)} }} = {source(name, found)};"

    def passed_on(found: re.Match[str]) -> str:
        of = source(name, found)
        exported.extend(f"{new}: {of}.{old}" for old, new in renamed(found["names"]))
        return ""

    def declared(found: re.Match[str]) -> str:
        exported.append(found["name"])
        return found["rest"]

    def listed(found: re.Match[str]) -> str:
        exported.extend(f"{new}: {old}" for old, new in renamed(found["names"]))
        return ""

    def default(_: re.Match[str]) -> str:
        exported.append("default: ours")
        return "const ours ="

    text = PASSED_ON.sub(passed_on, IMPORT.sub(imported, text))
    text = DEFAULT.sub(default, LISTED.sub(listed, DECLARED.sub(declared, text)))
    if left := UNKNOWN.search(text):
        raise CannotJoin(f"{name}: {left[0].strip()[:80]}")
    return f"(() => {{\n{text.rstrip()}\nreturn {{ {', '.join(exported)} }};\n}})()"


def source(name: str, found: re.Match[str]) -> str:
    """What a module that another names gave back."""
    return f'modules["{path(name, found["place"])}"]'


def renamed(names: str) -> list[tuple[str, str]]:
    """Names of a list, each as it was and as it becomes."""
    words = [each.split() for each in names.split(",") if each.strip()]
    return [(each[0], each[-1]) for each in words]


def fields(names: Iterable[tuple[str, str]]) -> str:
    """Names as an object is taken apart into."""
    return ", ".join(old if old == new else f"{old}: {new}" for old, new in names)

"""The page of a report: one HTML file that holds its style, its scripts, its charts' library and its numbers."""

from __future__ import annotations

import base64
import hashlib
import json
from html import escape
from importlib.resources import files
from typing import Any

from lonnymq.text import format_time

HERE = files("lonnymq.report") / "static"
# The dashboard's own look: found by its place, for the package itself needs a web server's library.
LOOK = files("lonnymq") / "dashboard" / "static" / "style"
LOOKS = ("tokens", "base", "parts", "chart")
STYLES = ("page", "print")
# In this order, as one script: each file adds functions that later ones call.
SCRIPTS = (
    "words",
    "elements",
    "theme",
    "charts",
    "tables",
    "overview",
    "sections",
    "tenants",
    "start",
)
LIBRARY = "vendor/echarts.common.min.js"
MOST_BYTES = 10_000_000


def page(document: dict[str, Any]) -> str:
    """The document as a page that needs nothing else: no file, no network."""
    theme = text_of("first.js")
    library = text_of(LIBRARY)
    script = (
        '"use strict";\n(() => {\n'
        + "\n".join(text_of(f"{each}.js") for each in SCRIPTS)
        + "\n})();\n"
    )
    hashes = " ".join(f"'sha256-{digest(each)}'" for each in (theme, library, script))
    policy = (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return fill(
        text_of("page.html"),
        policy=policy,
        title=escape(title(document)),
        style=style(),
        first=theme,
        library=library,
        script=script,
        data=embedded(document),
    )


def style() -> str:
    """The dashboard's look, and what a report adds to it."""
    shared = [(LOOK / f"{each}.css").read_text(encoding="utf-8") for each in LOOKS]
    return "\n".join([*shared, *(text_of(f"{each}.css") for each in STYLES)])


def fill(template: str, **values: str) -> str:
    """A template with `{{name}}` replaced, once from left to right: what is put in is not looked at again."""
    parts = template.split("{{")
    filled = [parts[0]]
    for part in parts[1:]:
        name, _, rest = part.partition("}}")
        filled += [values[name], rest]
    return "".join(filled)


def embedded(document: dict[str, Any]) -> str:
    """JSON that cannot end the script it stands in, whatever a tenant is called."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for harmful in "<>&\u2028\u2029":
        text = text.replace(harmful, f"\\u{ord(harmful):04x}")
    return text


def title(document: dict[str, Any]) -> str:
    """What the page is called."""
    return f"Queue report, {format_time(document['begin'])} to {format_time(document['end'])} UTC"


def digest(script: str) -> str:
    """What a content security policy knows an inline script by."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def text_of(name: str) -> str:
    """A file of the page's."""
    return (HERE / name).read_text(encoding="utf-8")

"""The page of a report: one HTML file that holds its style, its scripts, its charts' library and its numbers."""

from __future__ import annotations

import base64
import hashlib
import json
from html import escape
from importlib.resources import files
from typing import Any

from lonnymq.text import format_time

STATIC = files("lonnymq.report") / "static"
# The dashboard's own look: found by its place, for the package itself needs a web server's library.
DASHBOARD_STYLE = files("lonnymq") / "dashboard" / "static" / "style"
DASHBOARD_STYLES = ("tokens", "base", "parts", "chart")
STYLES = ("page", "print")
# In this order, as one script: each file adds functions that later ones call.
SCRIPTS = (
    "format",
    "elements",
    "theme",
    "charts",
    "tables",
    "overview",
    "sections",
    "tenants",
    "main",
)
LIBRARY = "vendor/echarts.common.min.js"
MAX_BYTES = 10_000_000


def render_page(document: dict[str, Any]) -> str:
    """The document as a page that needs nothing else: no file, no network."""
    theme = read_static("early_theme.js")
    library = read_static(LIBRARY)
    script = (
        '"use strict";\n(() => {\n'
        + "\n".join(read_static(f"{each}.js") for each in SCRIPTS)
        + "\n})();\n"
    )
    hashes = " ".join(f"'sha256-{hash_script(each)}'" for each in (theme, library, script))
    policy = (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return fill_template(
        read_static("page.html"),
        policy=policy,
        title=escape(make_title(document)),
        style=read_style(),
        first=theme,
        library=library,
        script=script,
        data=to_script_json(document),
    )


def read_style() -> str:
    """The dashboard's look, and what a report adds to it."""
    shared = [
        (DASHBOARD_STYLE / f"{each}.css").read_text(encoding="utf-8") for each in DASHBOARD_STYLES
    ]
    return "\n".join([*shared, *(read_static(f"{each}.css") for each in STYLES)])


def fill_template(template: str, **values: str) -> str:
    """A template with `{{name}}` replaced, once from left to right: what is put in is not looked at again."""
    parts = template.split("{{")
    filled = [parts[0]]
    for part in parts[1:]:
        name, _, rest = part.partition("}}")
        filled += [values[name], rest]
    return "".join(filled)


def to_script_json(document: dict[str, Any]) -> str:
    """JSON that cannot end the script it stands in, whatever a tenant is called."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for harmful in "<>&\u2028\u2029":
        text = text.replace(harmful, f"\\u{ord(harmful):04x}")
    return text


def make_title(document: dict[str, Any]) -> str:
    """What the page is called."""
    return f"Queue report, {format_time(document['begin'])} to {format_time(document['end'])} UTC"


def hash_script(script: str) -> str:
    """What a content security policy knows an inline script by."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def read_static(name: str) -> str:
    """A file of the page's."""
    return (STATIC / name).read_text(encoding="utf-8")

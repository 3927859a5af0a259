"""Renders the page of a report: one HTML file with style, scripts, chart library and data."""

from __future__ import annotations

import base64
import hashlib
import json
import re
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
    "format", "elements", "theme", "charts", "tables", "overview", "sections", "tenants", "main",
)  # fmt: skip
LIBRARY = "vendor/echarts.common.min.js"
MAX_BYTES = 10_000_000


def render_page(document: dict[str, Any]) -> str:
    """The document as a page that needs no other file and no network."""
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
    """The styles of the dashboard, and those of the report."""
    shared = [
        (DASHBOARD_STYLE / f"{each}.css").read_text(encoding="utf-8") for each in DASHBOARD_STYLES
    ]
    return "\n".join([*shared, *(read_static(f"{each}.css") for each in STYLES)])


def fill_template(template: str, **values: str) -> str:
    """Replace each `{{name}}` of a template once; inserted text is not scanned again."""
    return re.sub(r"\{\{(\w+)\}\}", lambda found: values[found[1]], template)


def to_script_json(document: dict[str, Any]) -> str:
    """JSON that cannot end the surrounding script, whatever the names of tenants."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for harmful in "<>&\u2028\u2029":
        text = text.replace(harmful, f"\\u{ord(harmful):04x}")
    return text


def make_title(document: dict[str, Any]) -> str:
    """The title of the page."""
    return f"Queue report, {format_time(document['begin'])} to {format_time(document['end'])} UTC"


def hash_script(script: str) -> str:
    """The hash of an inline script for the content security policy."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def read_static(name: str) -> str:
    """Read a static file."""
    return (STATIC / name).read_text(encoding="utf-8")

"""The latest report's pictures, from the folder that the lake keeps them in."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import FileResponse, Response

from lonnymq.dashboard.problems import not_found
from lonnymq.dashboard.site import site_of

PICTURES = {".svg": "image/svg+xml", ".png": "image/png"}
TYPES = {**PICTURES, ".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8"}
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")
# A report is made elsewhere: it may style itself, it runs nothing, and it is no part of this page's origin.
REPORT_POLICY = (
    "sandbox; default-src 'none'; img-src 'self' data:; style-src 'self' 'unsafe-inline';"
    " frame-ancestors 'none'"
)
EMPTY = "There is no report yet. Make one: lonnymq report; then start the page with --lake."
MOST_PICTURES = 50


def report_of(folder: Path | None) -> dict[str, Any]:
    """What the latest report has to show."""
    if folder is None or not folder.is_dir():
        return {"available": False, "advice": EMPTY}
    page = folder / "index.html"
    pictures = sorted(
        each for each in folder.iterdir() if each.suffix in PICTURES and NAME.fullmatch(each.name)
    )
    if not pictures and not page.is_file():
        return {"available": False, "advice": EMPTY}
    newest = max(each.stat().st_mtime for each in [*pictures, *([page] if page.is_file() else [])])
    return {
        "available": True,
        "title": "Report",
        "made_at": int(newest * 1000),
        "pictures": [
            {"name": each.name, "url": f"report/{each.name}", "title": title_of(each)}
            for each in pictures[:MOST_PICTURES]
        ],
        **({"url": "report/"} if page.is_file() else {}),
    }


def title_of(picture: Path) -> str:
    """A picture's title, from its name."""
    return picture.stem.replace("-", " ").replace("_", " ").capitalize()


async def report_file(request: Request) -> Response:
    """A file of the report."""
    site = site_of(request)
    await site.guard.admit(request)
    name = request.path_params.get("name") or "index.html"
    path = (site.report or Path()) / name
    is_known = NAME.fullmatch(name) and path.suffix in TYPES
    if site.report is None or not is_known or not path.is_file():
        raise not_found("There is no such file in the report.")
    return FileResponse(
        path, media_type=TYPES[path.suffix], headers={"Content-Security-Policy": REPORT_POLICY}
    )

"""The latest report, which `lonnymq report` has made of a lake: shown in a frame of its own, and its pictures."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import FileResponse, Response

from lonnymq.dashboard.problems import not_found
from lonnymq.dashboard.site import site_of

PICTURES = {".svg": "image/svg+xml", ".png": "image/png"}
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")
# A report is made elsewhere. It may draw itself with scripts and styles of its own, and asks nobody for anything; it is
# no part of this page's origin, so that no script of it acts or reads what the page may, wherever it is opened.
REPORT_POLICY = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline';"
    " style-src 'unsafe-inline'; img-src data: blob:; font-src data:; base-uri 'none';"
    " form-action 'none'; frame-ancestors 'self'"
)
PICTURE_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"
# Only the page itself may have it in a frame.
FRAMED = {"Content-Security-Policy": REPORT_POLICY, "X-Frame-Options": "SAMEORIGIN"}
MAKE = "lonnymq report --lake LAKE --out report.html"
UNSET = (
    f"Make one from a lake: {MAKE}; then start the page with --report and that file or its folder."
)
EMPTY = f"There is none in {{place}} yet. Make one from a lake: {MAKE}"
MOST_PICTURES = 50


def page_of(place: Path | None) -> Path | None:
    """The newest report at a place: a file, a folder with some, or a lake with a folder for them."""
    if place is None or place.is_file():
        return place
    folders = [each for each in (place, place / "report", place / "reports") if each.is_dir()]
    pages = [page for folder in folders for page in folder.glob("*.html") if page.is_file()]
    return max(pages, key=lambda page: page.stat().st_mtime, default=None)


def pictures_of(place: Path | None) -> list[Path]:
    """The pictures that lie there beside a report."""
    if place is None or not place.is_dir():
        return []
    found = (each for each in place.iterdir() if each.suffix in PICTURES)
    return sorted(each for each in found if NAME.fullmatch(each.name) and each.is_file())


def report_of(place: Path | None) -> dict[str, Any]:
    """What there is to show."""
    page, pictures = page_of(place), pictures_of(place)
    if page is None and not pictures:
        advice = UNSET if place is None else EMPTY.format(place=place)
        return {"available": False, "configured": place is not None, "advice": advice}
    newest = max(each.stat().st_mtime for each in [*pictures, *([page] if page else [])])
    return {
        "available": True,
        "configured": True,
        "title": page.stem if page else "Report",
        "made_at": int(newest * 1000),
        "pictures": [
            {"name": each.name, "url": f"report/{each.name}", "title": title_of(each)}
            for each in pictures[:MOST_PICTURES]
        ],
        **({"url": "report/"} if page else {}),
    }


def title_of(picture: Path) -> str:
    """A picture's title, from its name."""
    return picture.stem.replace("-", " ").replace("_", " ").capitalize()


async def report_page(request: Request) -> Response:
    """The report itself."""
    site = site_of(request)
    await site.guard.admit(request)
    page = page_of(site.report)
    if page is None:
        raise not_found("There is no report.")
    return FileResponse(page, media_type="text/html; charset=utf-8", headers=FRAMED)


async def report_picture(request: Request) -> Response:
    """A picture beside it."""
    site = site_of(request)
    await site.guard.admit(request)
    name = request.path_params["name"]
    for picture in pictures_of(site.report):
        if picture.name == name:
            headers = {"Content-Security-Policy": PICTURE_POLICY}
            return FileResponse(picture, media_type=PICTURES[picture.suffix], headers=headers)
    raise not_found("There is no such picture.")

"""The files that the dashboard sends: the page, and the latest report, which the page shows in a frame.

The files of the page are held in memory. `scripts/bundle_dashboard.py` bundles the JavaScript and the CSS.
"""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from mimetypes import guess_type
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import FileResponse, Response

from lonnymq.dashboard.errors import not_found
from lonnymq.dashboard.state import get_state

STATIC = Path(__file__).parent / "static"
CONTENT_TYPES = {".js": "text/javascript"}
FOREVER = "public, max-age=31536000, immutable"
PICTURES = {".svg": "image/svg+xml", ".png": "image/png"}
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")
# A report may run its own scripts and styles, but in a sandbox: it has no origin and no network, so that its scripts
# cannot act or read as the page can.
REPORT_POLICY = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data: blob:; font-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'self'"
)
PICTURE_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"
# Only the page itself may show the report in a frame.
REPORT_HEADERS = {"Content-Security-Policy": REPORT_POLICY, "X-Frame-Options": "SAMEORIGIN"}
COMMAND = "lonnymq report --lake LAKE --out report.html"
NOT_CONFIGURED = (
    f"Create a report from a lake: {COMMAND}. Then start the dashboard with --report FILE."
)
NO_REPORT = f"There is no report in {{folder}} yet. Create a report from a lake: {COMMAND}"
MAX_PICTURES = 50


@dataclass(frozen=True, slots=True)
class Asset:
    """One file: its content, the same compressed, its content type and its hash."""

    content: bytes
    gzipped: bytes
    content_type: str
    hash: str


@cache
def load_assets() -> dict[str, Asset]:
    """All files by path. The page names other files with their hash."""
    paths = (path for path in STATIC.rglob("*") if path.is_file())
    found = {path.relative_to(STATIC).as_posix(): path.read_bytes() for path in paths}
    assets = {name: build_asset(name, content) for name, content in found.items()}

    def add_hash(named: re.Match[str]) -> str:
        return f'"static/{named[1]}?{assets[named[1]].hash}"'

    page = re.sub(r'"static/([^"]+)"', add_hash, found["index.html"].decode())
    return {**assets, "index.html": build_asset("index.html", page.encode())}


def build_asset(name: str, content: bytes) -> Asset:
    """A file with everything that a response needs."""
    content_type = CONTENT_TYPES.get(Path(name).suffix) or guess_type(name)[0] or "text/plain"
    compressed = gzip.compress(content, mtime=0)
    return Asset(content, compressed, content_type, sha256(content).hexdigest()[:32])


def send_asset(name: str, request: Request) -> Response:
    """Send a file, or the answer that the browser has the file. An address with the hash never changes."""
    asset = load_assets().get(name)
    if asset is None:
        raise not_found("There is no such file.")
    headers = {"ETag": f'"{asset.hash}"', "Vary": "Accept-Encoding"}
    if request.url.query == asset.hash:
        headers["Cache-Control"] = FOREVER
    if asset.hash in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    content = asset.content
    if "gzip" in request.headers.get("accept-encoding", ""):
        content, headers["Content-Encoding"] = asset.gzipped, "gzip"
    return Response(content, media_type=asset.content_type, headers=headers)


async def send_page(request: Request) -> Response:
    """Send the page."""
    return send_asset("index.html", request)


async def send_file(request: Request) -> Response:
    """Send a file of the page."""
    return send_asset(request.path_params["path"], request)


def find_report(place: Path | None) -> Path | None:
    """The newest report: the file itself, or the newest in the folder or in its `report` or `reports`."""
    if place is None or place.is_file():
        return place
    folders = [each for each in (place, place / "report", place / "reports") if each.is_dir()]
    pages = [page for folder in folders for page in folder.glob("*.html") if page.is_file()]
    return max(pages, key=lambda page: page.stat().st_mtime, default=None)


def find_pictures(place: Path | None) -> list[Path]:
    """The pictures beside a report."""
    if place is None or not place.is_dir():
        return []
    found = (each for each in place.iterdir() if each.suffix in PICTURES)
    return sorted(each for each in found if NAME.fullmatch(each.name) and each.is_file())


def describe_report(place: Path | None) -> dict[str, Any]:
    """The latest report as JSON."""
    page, pictures = find_report(place), find_pictures(place)
    if page is None and not pictures:
        advice = NOT_CONFIGURED if place is None else NO_REPORT.format(folder=place)
        return {"available": False, "configured": place is not None, "advice": advice}
    newest = max(each.stat().st_mtime for each in [*pictures, *([page] if page else [])])
    return {
        "available": True,
        "configured": True,
        "title": page.stem if page else "Report",
        "made_at": int(newest * 1000),
        "pictures": [
            {"name": each.name, "url": f"report/{each.name}", "title": format_title(each)}
            for each in pictures[:MAX_PICTURES]
        ],
        **({"url": "report/"} if page else {}),
    }


def format_title(picture: Path) -> str:
    """The title of a picture, from its file name."""
    return picture.stem.replace("-", " ").replace("_", " ").capitalize()


async def send_report(request: Request) -> Response:
    """Send the report."""
    page = find_report(get_state(request).report)
    if page is None:
        raise not_found("There is no report.")
    return FileResponse(page, media_type="text/html", headers=REPORT_HEADERS)


async def send_report_picture(request: Request) -> Response:
    """Send a picture beside the report."""
    name = request.path_params["name"]
    for picture in find_pictures(get_state(request).report):
        if picture.name == name:
            headers = {"Content-Security-Policy": PICTURE_POLICY}
            return FileResponse(picture, media_type=PICTURES[picture.suffix], headers=headers)
    raise not_found("This picture does not exist.")

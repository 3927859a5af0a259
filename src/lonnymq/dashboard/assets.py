"""The files of the page, held in memory. `scripts/bundle_dashboard.py` bundles the JavaScript and the CSS."""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from mimetypes import guess_type
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from lonnymq.dashboard.errors import not_found

STATIC = Path(__file__).parent / "static"
CONTENT_TYPES = {".js": "text/javascript"}
FOREVER = "public, max-age=31536000, immutable"


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

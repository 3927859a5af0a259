"""The files of the page, held in memory. A hash of all files is in their path, so browsers can cache them forever."""

from __future__ import annotations

import gzip
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
NOT_MODULES = ("theme.js",)


@dataclass(frozen=True, slots=True)
class Asset:
    """One file: its content, the same compressed, its content type and its hash."""

    content: bytes
    gzipped: bytes
    content_type: str
    hash: str


@cache
def load_assets() -> dict[str, Asset]:
    """All files of the page by path."""
    paths = sorted(path for path in STATIC.rglob("*") if path.is_file())
    found = {path.relative_to(STATIC).as_posix(): path.read_bytes() for path in paths}
    page = found["index.html"].decode().replace('"static/', f'"static/{version()}/')
    page = page.replace("</title>", f"</title>\n{preload_links(list(found))}")
    found["index.html"] = page.encode()
    return {name: build_asset(name, content) for name, content in found.items()}


@cache
def version() -> str:
    """A hash of all files. Modules import each other by relative paths, so the hash is in those addresses as well."""
    paths = sorted(path for path in STATIC.rglob("*") if path.is_file())
    return sha256(b"\0".join(path.read_bytes() for path in paths)).hexdigest()[:16]


def preload_links(names: list[str]) -> str:
    """Links that let a browser fetch all modules at once, before one module names the next."""
    modules = [name for name in names if name.endswith(".js") and name not in NOT_MODULES]
    return "\n".join(
        f'  <link rel="modulepreload" href="static/{version()}/{name}">' for name in modules
    )


def build_asset(name: str, content: bytes) -> Asset:
    """A file with everything that a response needs."""
    content_type = CONTENT_TYPES.get(Path(name).suffix) or guess_type(name)[0] or "text/plain"
    compressed = gzip.compress(content, mtime=0)
    return Asset(content, compressed, content_type, sha256(content).hexdigest()[:32])


def send_asset(name: str, request: Request, *, is_versioned: bool = False) -> Response:
    """Send a file, or the answer that the browser has the file already."""
    asset = load_assets().get(name)
    if asset is None:
        raise not_found("There is no such file.")
    headers = {"ETag": f'"{asset.hash}"', "Vary": "Accept-Encoding"}
    if is_versioned:
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
    """Send a file of the page: `static/app.js`, or `static/<version>/app.js`, which never changes."""
    path: str = request.path_params["path"]
    first, _, rest = path.partition("/")
    if first == version():
        return send_asset(rest, request, is_versioned=True)
    return send_asset(path, request)

"""The page's own files, kept in memory, as they lie in their folder but for two: styles and modules are joined."""

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

from lonnymq.dashboard.joining import joined_modules
from lonnymq.dashboard.problems import not_found

STATIC = Path(__file__).parent / "static"
TYPES = {".js": "text/javascript"}
STYLE = re.compile(r'<link rel="stylesheet" href="static/([^"]+)">\s*')
SCRIPT = re.compile(r'<script type="module" src="static/([^"]+)"></script>')
FOR_EVER = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class File:
    """One of them: what is in it, the same packed, its type, and the mark by which a browser knows that it has it."""

    content: bytes
    packed: bytes
    type: str
    mark: str


@cache
def files() -> dict[str, File]:
    """All of them, by their paths."""
    paths = (path for path in STATIC.rglob("*") if path.is_file())
    found = {path.relative_to(STATIC).as_posix(): path.read_bytes() for path in paths}
    made = {name: file(name, content) for name, content in found.items()}
    return made | joined({name: each.decode() for name, each in found.items()})


def joined(found: dict[str, str]) -> dict[str, File]:
    """The page with one style and one module in place of those that it names."""
    page = found["index.html"]
    style = "\n".join(found[name] for name in STYLE.findall(page))
    (first,) = SCRIPT.findall(page)
    made = {"page.css": style, "page.js": joined_modules(found, first)}
    sent = {name: file(name, text.encode()) for name, text in made.items()}
    link = f'<link rel="stylesheet" href="static/page.css?{sent["page.css"].mark}">'
    script = f'<script type="module" src="static/page.js?{sent["page.js"].mark}"></script>'
    page = SCRIPT.sub(script, STYLE.sub("", page).replace("</title>", f"</title>\n  {link}"))
    return sent | {"index.html": file("index.html", page.encode())}


def file(name: str, content: bytes) -> File:
    """A file to be sent."""
    kind = TYPES.get(Path(name).suffix) or guess_type(name)[0] or "text/plain"
    mark = sha256(content).hexdigest()[:32]
    return File(content, gzip.compress(content, mtime=0), kind, mark)


def answer(name: str, request: Request) -> Response:
    """A file, or that the browser has it already; one that was asked for by its mark never changes."""
    asked = files().get(name)
    if asked is None:
        raise not_found("There is nothing here.")
    headers = {"ETag": f'"{asked.mark}"', "Vary": "Accept-Encoding"}
    if request.url.query == asked.mark:
        headers["Cache-Control"] = FOR_EVER
    if asked.mark in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    content = asked.content
    if "gzip" in request.headers.get("accept-encoding", ""):
        content, headers["Content-Encoding"] = asked.packed, "gzip"
    return Response(content, media_type=asked.type, headers=headers)


async def index(request: Request) -> Response:
    """The page."""
    return answer("index.html", request)


async def static(request: Request) -> Response:
    """A file of the page's."""
    return answer(request.path_params["path"], request)

"""The page's own files, kept in memory: they are few and small, and a browser asks for all of them at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from mimetypes import guess_type
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from lonnymq.dashboard.problems import not_found

STATIC = Path(__file__).parent / "static"
TYPES = {".js": "text/javascript"}


@dataclass(frozen=True, slots=True)
class File:
    """One of them: what is in it, of which type, and the mark by which a browser knows that it has it."""

    content: bytes
    type: str
    mark: str


@cache
def files() -> dict[str, File]:
    """All of them, by their paths."""
    paths = (path for path in STATIC.rglob("*") if path.is_file())
    return {path.relative_to(STATIC).as_posix(): read(path) for path in paths}


def read(path: Path) -> File:
    """A file as it lies there."""
    content = path.read_bytes()
    kind = TYPES.get(path.suffix) or guess_type(path.name)[0] or "text/plain"
    return File(content, kind, f'"{sha256(content).hexdigest()[:32]}"')


def answer(name: str, request: Request) -> Response:
    """A file, or that the browser has it already."""
    file = files().get(name)
    if file is None:
        raise not_found("There is nothing here.")
    headers = {"ETag": file.mark}
    if file.mark in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(file.content, media_type=file.type, headers=headers)


async def index(request: Request) -> Response:
    """The page."""
    return answer("index.html", request)


async def static(request: Request) -> Response:
    """A file of the page's."""
    return answer(request.path_params["path"], request)

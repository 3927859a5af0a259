"""An object store for tests: as much of S3's protocol as a lake speaks, over HTTP, with everything in memory.

It is a process of its own, `python store.py`: while delta-rs asks, no other thread of its process runs.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from urllib.parse import parse_qs, unquote, urlsplit
from urllib.request import Request, urlopen
from xml.sax.saxutils import escape

WHEN = "2030-01-01T00:00:00.000Z"


OBJECTS: dict[str, bytes] = {}
UPLOADS: dict[str, dict[int, bytes]] = {}
ASKED: set[str] = set()
LOCK = Lock()


class Handler(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        super().setup()
        self.parts = urlsplit("")

    def parse_request(self) -> bool:
        is_good = super().parse_request()
        if is_good:
            self.parts = urlsplit(self.path)
            self.key = unquote(self.parts.path).removeprefix("/bucket").lstrip("/")
            self.query = parse_qs(self.parts.query, keep_blank_values=True)
            self.body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            ASKED.add(self.headers.get("Authorization", "").split("/")[0])
        return is_good

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def answer(self, code: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if "Content_Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def found(self, content: bytes) -> dict[str, str]:
        return {"ETag": tag(content), "Last_Modified": formatdate(1_893_456_000, usegmt=True)}

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        if self.key == "who":
            return self.answer(200, json.dumps(sorted(ASKED - {""})).encode())
        if not self.key:
            return self.answer(200, self.listing())
        content = OBJECTS.get(self.key)
        if content is None:
            return self.answer(404)
        results = self.found(content)
        asked = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        if not asked:
            return self.answer(200, content, Content_Length=str(len(content)), **results)
        if asked[1]:
            first, end = int(asked[1]), int(asked[2] or len(content)) + 1
        else:
            first, end = len(content) - int(asked[2]), len(content)
        part = content[first:end]
        span = f"bytes {first}-{first + len(part) - 1}/{len(content)}"
        return self.answer(206, part, Content_Range=span, **results)

    def listing(self) -> bytes:
        prefix, cut = self.query.get("prefix", [""])[0], self.query.get("delimiter", [""])[0]
        after = self.query.get("start-after", [""])[0]
        folders, rows = set(), []
        for key, content in sorted(OBJECTS.items()):
            if not key.startswith(prefix) or key <= after:
                continue
            rest = key[len(prefix) :]
            if cut and cut in rest:
                folders.add(prefix + rest.split(cut)[0] + cut)
                continue
            rows.append(
                f"<Contents><Key>{escape(key)}</Key><LastModified>{WHEN}</LastModified>"
                f"<ETag>{escape(tag(content))}</ETag><Size>{len(content)}</Size></Contents>"
            )
        rows += [
            f"<CommonPrefixes><Prefix>{escape(each)}</Prefix></CommonPrefixes>" for each in folders
        ]
        text = (
            f"<ListBucketResult><IsTruncated>false</IsTruncated>{''.join(rows)}</ListBucketResult>"
        )
        return text.encode()

    def do_PUT(self) -> None:
        if "partNumber" in self.query:
            upload = UPLOADS[self.query["uploadId"][0]]
            upload[int(self.query["partNumber"][0])] = self.body
            return self.answer(200, ETag=tag(self.body))
        with LOCK:
            if self.headers.get("If-None-Match") == "*" and self.key in OBJECTS:
                return self.answer(412)
            OBJECTS[self.key] = self.body
        return self.answer(200, ETag=tag(self.body))

    def do_POST(self) -> None:
        if "uploads" in self.query:
            name = f"upload {len(UPLOADS)}"
            UPLOADS[name] = {}
            text = f"<InitiateMultipartUploadResult><UploadId>{name}</UploadId></InitiateMultipartUploadResult>"
            return self.answer(200, text.encode())
        if "delete" in self.query:
            keys = re.findall(r"<Key>(.*?)</Key>", self.body.decode())
            for key in keys:
                OBJECTS.pop(key, None)
            gone = "".join(f"<Deleted><Key>{key}</Key></Deleted>" for key in keys)
            return self.answer(200, f"<DeleteResult>{gone}</DeleteResult>".encode())
        parts = UPLOADS[self.query["uploadId"][0]]
        content = b"".join(parts[number] for number in sorted(parts))
        OBJECTS[self.key] = content
        text = f"<CompleteMultipartUploadResult><ETag>{escape(tag(content))}</ETag></CompleteMultipartUploadResult>"
        return self.answer(200, text.encode())

    def do_DELETE(self) -> None:
        OBJECTS.pop(self.key, None)
        self.answer(204)


def tag(content: bytes) -> str:
    return f'"{hashlib.sha256(content).hexdigest()[:32]}"'


class Store:
    """A bucket called `bucket`: how to reach it, and what is in it."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.options = {
            "aws_endpoint": address,
            "aws_access_key_id": "somebody",
            "aws_secret_access_key": "secret",
            "aws_region": "eu-central-1",
            "aws_allow_http": "true",
        }

    def ask(self, key: str = "", *, content: bytes | None = None) -> bytes:
        method = "GET" if content is None else "PUT"
        request = Request(f"{self.address}/bucket/{key}", data=content, method=method)
        with urlopen(request) as answer:
            return answer.read()

    def keys(self) -> list[str]:
        return re.findall(r"<Key>(.*?)</Key>", self.ask().decode())

    def who(self) -> list[str]:
        """Whose credentials were shown."""
        return json.loads(self.ask("who"))


@contextmanager
def object_store() -> Iterator[Store]:
    """A store on a port of this machine."""
    command = [sys.executable, __file__]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            yield Store(process.stdout.readline().strip())
        finally:
            process.kill()


if __name__ == "__main__":
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
        server.serve_forever()

"""A proxy that understands as much of PostgreSQL's protocol as it takes to cut a connection at a chosen moment.

It runs in a thread of its own, between a socket in a folder and the server's socket.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

SOCKET = ".s.PGSQL.5432"
PARSE, BIND, QUERY, SYNC, READY = b"P", b"B", b"Q", b"S", b"Z"


@dataclass(eq=False)
class Wire:
    """One connection through the proxy."""

    client: asyncio.StreamWriter
    server: asyncio.StreamWriter
    statements: dict[bytes, bytes] = field(default_factory=dict)
    running: list[bytes] = field(default_factory=list)
    swallowing: bool = False
    silent: bool = False

    def close(self) -> None:
        """Cut both ends."""
        for end in (self.client, self.server):
            with suppress(RuntimeError, OSError):
                end.transport.abort()


class Proxy:
    """Passes on what it gets until it is told to cut."""

    def __init__(self, upstream: Path) -> None:
        self.upstream = upstream
        self.folder = Path(tempfile.mkdtemp(prefix="lonnymq-proxy-"))
        self.wires: list[Wire] = []
        self.orders: list[tuple[str, bytes]] = []
        self.cuts = 0
        self.lock = threading.Lock()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.ready = threading.Event()

    @property
    def dsn(self) -> str:
        """How to connect through it."""
        return f"postgresql://postgres@/postgres?host={quote(str(self.folder))}&port=5432"

    # What a run may ask for, from any thread

    def cut(self, when: str, statement: bytes, times: int = 1) -> None:
        """Cut the next connections that run a statement with these words: `before` or `after` it has committed."""
        with self.lock:
            self.orders += [(when, statement)] * times

    def forget(self) -> None:
        """Take back the orders that nobody met."""
        with self.lock:
            self.orders.clear()

    def half_open(self, rng: random.Random, seconds: float) -> None:
        """Let the server's end of a connection go while the client hears nothing, for so long."""
        wires = [each for each in list(self.wires) if not each.silent]
        if wires:
            self.loop.call_soon_threadsafe(self._silence, rng.choice(wires), seconds)

    def cut_all(self) -> None:
        """Cut every connection."""
        for wire in list(self.wires):
            self.loop.call_soon_threadsafe(wire.close)

    # In its own thread

    def _serve(self) -> None:
        asyncio.set_event_loop(self.loop)
        server = self.loop.run_until_complete(
            asyncio.start_unix_server(self._accept, path=str(self.folder / SOCKET))
        )
        self.ready.set()
        self.loop.run_forever()
        server.close()

    def _silence(self, wire: Wire, seconds: float) -> None:
        wire.silent = True
        wire.server.transport.abort()
        self.loop.call_later(seconds, wire.close)

    async def _accept(self, reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        try:
            answers, server = await asyncio.open_unix_connection(str(self.upstream / SOCKET))
        except OSError:
            client.close()
            return
        wire = Wire(client, server)
        self.wires.append(wire)
        try:
            await asyncio.gather(self._forth(wire, reader), self._back(wire, answers))
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            if wire.silent:
                await asyncio.sleep(0)  # its end is closed when its time has come
            else:
                wire.close()
            self.wires.remove(wire)

    async def _forth(self, wire: Wire, reader: asyncio.StreamReader) -> None:
        head = await reader.readexactly(4)
        wire.server.write(head + await reader.readexactly(int.from_bytes(head, "big") - 4))
        while True:
            kind, message = await self._message(reader)
            if wire.silent:
                continue
            self._follow(wire, kind, message)
            if kind in (SYNC, QUERY):
                order = self._order(wire)
                wire.running.clear()
                if order == "before":
                    wire.close()
                    return
                wire.swallowing = order == "after"
            wire.server.write(message)
            await wire.server.drain()

    async def _back(self, wire: Wire, reader: asyncio.StreamReader) -> None:
        while True:
            try:
                kind, message = await self._message(reader)
            except (OSError, asyncio.IncompleteReadError):
                if not wire.silent:
                    wire.close()
                return
            if wire.swallowing:
                if kind == READY and message[5:6] == b"I":
                    wire.close()
                    return
                continue
            wire.client.write(message)
            await wire.client.drain()

    @staticmethod
    async def _message(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
        head = await reader.readexactly(5)
        body = await reader.readexactly(int.from_bytes(head[1:], "big") - 4)
        return head[:1], head + body

    @staticmethod
    def _follow(wire: Wire, kind: bytes, message: bytes) -> None:
        """Know which statement is being run: a prepared one is named when it is bound."""
        if kind == QUERY:
            wire.running.append(message[5:])
        elif kind == PARSE:
            name, query = message[5:].split(b"\0", 2)[:2]
            wire.statements[name] = query
        elif kind == BIND:
            wire.running.append(wire.statements.get(message[5:].split(b"\0", 2)[1], b""))

    def _order(self, wire: Wire) -> str | None:
        with self.lock:
            for order in self.orders:
                if any(order[1] in statement for statement in wire.running):
                    self.orders.remove(order)
                    self.cuts += 1
                    return order[0]
        return None


@contextmanager
def proxy(upstream: Path) -> Iterator[Proxy]:
    """A proxy in front of the socket in a folder."""
    made = Proxy(upstream)
    made.thread.start()
    made.ready.wait()
    try:
        yield made
    finally:
        made.cut_all()
        time.sleep(0.05)
        made.loop.call_soon_threadsafe(made.loop.stop)
        made.thread.join(timeout=10)
        with suppress(OSError):
            (made.folder / SOCKET).unlink(missing_ok=True)
            made.folder.rmdir()

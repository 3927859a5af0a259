"""A TCP proxy in front of a PostgreSQL server that can go silent, cut, or half-close."""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TypeVar

from psycopg.conninfo import conninfo_to_dict, make_conninfo

T = TypeVar("T")


@dataclass(eq=False)
class Wire:
    """One connection through the proxy. A silent wire takes bytes, which TCP acknowledges, and passes nothing on."""

    client: asyncio.StreamWriter
    server: asyncio.StreamWriter | None = None
    silent: bool = False
    tasks: list[asyncio.Task[None]] = field(default_factory=list)


class TcpProxy:
    """Passes bytes on between a TCP port and the server of a DSN."""

    def __init__(self, dsn: str) -> None:
        known = conninfo_to_dict(dsn)
        self.host, self.port = str(known["host"]), int(known.get("port") or 5432)
        self.loop = asyncio.new_event_loop()
        self.wires: list[Wire] = []
        self.accepted = 0
        self.silent_to_new = False
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.dsn = make_conninfo(
            dsn, host="127.0.0.1", port=self.socket.getsockname()[1], sslmode="disable"
        )
        self.thread = threading.Thread(target=self._serve, daemon=True)

    def silence(self, *, new: bool = False) -> int:
        """Pass nothing on any more on open connections, and on new ones if told so. Return how many were open."""
        return self._call(self._silence, new)

    def heal(self) -> None:
        """Serve new connections again. Silent ones stay silent, as after a failover."""
        self._call(setattr, self, "silent_to_new", False)

    def half_close(self) -> None:
        """Close the server's side of all connections towards the client, and go on reading from the client."""
        self._call(self._half_close)

    def cut(self) -> None:
        """Cut all connections."""
        self._call(self._cut)

    def _call(self, function: Callable[..., T], *arguments: object) -> T:
        async def run() -> T:
            return function(*arguments)

        return asyncio.run_coroutine_threadsafe(run(), self.loop).result(10)

    def _silence(self, new: bool) -> int:
        self.silent_to_new = new
        loud = [wire for wire in self.wires if not wire.silent]
        for wire in loud:
            wire.silent = True
        return len(loud)

    def _half_close(self) -> None:
        for wire in self.wires:
            wire.silent = True
            wire.client.write_eof()

    def _cut(self) -> None:
        for wire in self.wires:
            for end in (wire.client, wire.server):
                if end is not None:
                    end.transport.abort()

    def _serve(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.server = self.loop.run_until_complete(
            asyncio.start_server(self._accept, sock=self.socket)
        )
        self.loop.run_forever()

    async def _accept(self, reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        wire = Wire(client, silent=self.silent_to_new)
        self.wires.append(wire)
        self.accepted += 1
        try:
            with suppress(OSError):
                answers, wire.server = await asyncio.open_unix_connection(
                    f"{self.host}/.s.PGSQL.{self.port}"
                )
                back = asyncio.create_task(self._pass_on(wire, answers, client))
                await self._pass_on(wire, reader, wire.server)
                back.cancel()
        finally:
            self.wires.remove(wire)
            for end in (wire.client, wire.server):
                if end is not None:
                    end.transport.abort()

    @staticmethod
    async def _pass_on(
        wire: Wire, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                if not wire.silent:
                    writer.write(data)
                    await writer.drain()
        if not wire.silent:
            writer.transport.abort()


@contextmanager
def tcp_proxy(dsn: str) -> Iterator[TcpProxy]:
    """A proxy in front of the server of a DSN."""
    proxy = TcpProxy(dsn)
    proxy.thread.start()
    try:
        yield proxy
    finally:
        proxy.cut()
        proxy._call(proxy.server.close)
        proxy.loop.call_soon_threadsafe(proxy.loop.stop)
        proxy.thread.join(timeout=10)

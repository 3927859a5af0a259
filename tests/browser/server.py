"""The page served by a real server in a thread of its own, which may be stopped and started again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from support import eventually


class Serving:
    """A server on a port of its own; `start` after `stop` takes the same port."""

    def __init__(self, make_app: Callable[[], Any]) -> None:
        self.make_app, self.port = make_app, 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def start(self) -> None:
        config = uvicorn.Config(
            self.make_app(),
            host="127.0.0.1",
            port=self.port,
            log_level="critical",
            timeout_graceful_shutdown=0,
        )
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, daemon=True)
        self.thread.start()
        eventually(lambda: self.server.started)
        self.port = self.server.servers[0].sockets[0].getsockname()[1]

    def stop(self) -> None:
        """End now, whoever is still listening."""
        self.server.should_exit = True
        self.thread.join(timeout=30)


@contextmanager
def serving(make_app: Callable[[], Any]) -> Iterator[Serving]:
    server = Serving(make_app)
    server.start()
    try:
        yield server
    finally:
        server.stop()

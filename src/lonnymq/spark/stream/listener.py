"""Hears of new messages on a connection of its own, so that an idle stream asks once a second and not more."""

from __future__ import annotations

import threading
from typing import Any

import psycopg


class Ear:
    """Waits for a notification; where none can be heard it only waits."""

    def __init__(self, dsn: str, *, schema: str) -> None:
        self.dsn, self.schema = dsn, schema
        self.connection: psycopg.Connection[Any] | None = None
        self.is_deaf = False
        self.closing = threading.Event()

    def open(self) -> None:
        """Begin to listen, before anybody looks: what is told from now on is heard by the next wait."""
        if self.connection is not None or self.is_deaf:
            return
        try:
            self.connection = psycopg.connect(self.dsn, autocommit=True, prepare_threshold=None)
            row = self.connection.execute("select pg_backend_pid()").fetchone()
            self.is_deaf = row != (self.connection.info.backend_pid,)  # a pooler passes nothing on
            if self.is_deaf:
                self.close()
            else:
                self.connection.execute(f"listen {self.schema}".encode())
        except psycopg.Error:
            self.close()

    def wait(self, seconds: float) -> None:
        """Wait until there is something to hear, so long at most."""
        if self.connection is None:
            self.closing.wait(seconds)
            return
        try:
            for _ in self.connection.notifies(timeout=seconds, stop_after=1):
                pass
        except psycopg.Error:
            self.close()

    def close(self) -> None:
        """Listen no more."""
        if self.connection is not None:
            self.connection.close()
            self.connection = None

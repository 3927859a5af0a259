"""Waits for notifications of new messages, so that an idle stream asks the queue once per second and no more."""

from __future__ import annotations

import threading
from typing import Any

import psycopg


class Listener:
    """Waits for a notification on its own connection. Without notifications it waits for the time only."""

    def __init__(self, dsn: str, *, schema: str) -> None:
        self.dsn, self.schema = dsn, schema
        self.connection: psycopg.Connection[Any] | None = None
        self.is_pooled = False  # a transaction pooler passes no notifications on
        self.closing = threading.Event()

    def open(self) -> None:
        """Listen before you ask the queue: the next wait receives every notification from now on."""
        if self.connection is not None or self.is_pooled:
            return
        try:
            self.connection = psycopg.connect(self.dsn, autocommit=True, prepare_threshold=None)
            row = self.connection.execute("select pg_backend_pid()").fetchone()
            self.is_pooled = row != (self.connection.info.backend_pid,)
            if self.is_pooled:
                self.close()
            else:
                self.connection.execute(f"listen {self.schema}".encode())
        except psycopg.Error:
            self.close()

    def wait(self, seconds: float) -> None:
        """Wait for a notification, at most for so many seconds."""
        if self.connection is None:
            self.closing.wait(seconds)
            return
        try:
            for _ in self.connection.notifies(timeout=seconds, stop_after=1):
                pass
        except psycopg.Error:
            self.close()

    def close(self) -> None:
        """Close the connection."""
        if self.connection is not None:
            self.connection.close()
            self.connection = None

"""Questions about a psycopg connection, sync or async, that both halves of the client ask."""

from __future__ import annotations

import os
import re
import select
import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

from psycopg import AsyncConnection, Connection, Error, capabilities
from psycopg.pq import TransactionStatus

from lonnymq.errors import InTransaction

AnyConnection = Connection[Any] | AsyncConnection[Any]

MAX_CONNECTIONS = 10
TIMEOUT_SECONDS = 30.0
READ_ONLY = "25006"
PREPARE_AT_ONCE = 0
ISOLATION = b"set transaction isolation level read committed"


@lru_cache(maxsize=1024)
def encoded_statement(sql: str) -> bytes:
    """The statement as it is sent; the same object each time, by which psycopg knows it again."""
    return sql.encode()


@lru_cache(maxsize=1024)
def takes_long(sql: str) -> bool:
    """Whether the time of a call grows with the queue or its history, so that a time limit would be wrong."""
    return re.search(r"\.(queue_check|queue_repair|history_\w+)\(", sql) is not None


def reject_open_transaction(connection: AnyConnection) -> None:
    """Dequeue inside somebody's transaction would hold its locks, and its relaxed commit would be theirs."""
    if connection.info.transaction_status != TransactionStatus.IDLE:
        raise InTransaction(
            f"dequeue was called inside an open transaction: {InTransaction.__doc__}"
        )


def cut(connection: AnyConnection) -> None:
    """Cut a connection from another thread, which ends a wait for an answer."""
    with suppress(OSError, Error), socket.socket(fileno=os.dup(connection.fileno())) as own:
        own.shutdown(socket.SHUT_RDWR)


def needs_transaction(connection: AnyConnection) -> bool:
    """Whether a statement would leave a transaction open that nobody opened."""
    return (
        not connection.autocommit and connection.info.transaction_status == TransactionStatus.IDLE
    )


def is_alive(connection: AnyConnection) -> bool:
    """Whether the server still holds its end: on an idle connection, something to read is its farewell."""
    if connection.closed:
        return False
    poller = select.poll()
    poller.register(connection.fileno(), select.POLLIN)
    return not poller.poll(0)


def has_cancel_safe() -> bool:
    """Whether libpq can cancel with a time limit, as from version 17 on."""
    return capabilities.has_cancel_safe()


def cancel_in_thread(connection: AnyConnection) -> None:
    """Ask the server to cancel the statement, with a libpq whose question may wait for ever."""
    request = connection.pgconn.get_cancel()

    def ask() -> None:
        with suppress(Error):
            request.cancel()

    threading.Thread(target=ask, name="lonnymq cancel", daemon=True).start()


def close_forgotten(connections: Sequence[AnyConnection], process: int) -> None:
    """Close what a forgotten queue left idle, in the process that opened it."""
    if process == os.getpid():
        for connection in connections:
            connection.pgconn.finish()

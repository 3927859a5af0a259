"""Questions about a psycopg connection, sync or async, that both halves of the client ask."""

from __future__ import annotations

import os
import select
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from psycopg import AsyncConnection, Connection
from psycopg.pq import TransactionStatus

from lonnymq.errors import InTransaction

AnyConnection = Connection[Any] | AsyncConnection[Any]

PREPARE_AT_ONCE = 0
ISOLATION = b"set transaction isolation level read committed"


@lru_cache(maxsize=1024)
def encoded_statement(sql: str) -> bytes:
    """The statement as it is sent; the same object each time, by which psycopg knows it again."""
    return sql.encode()


def refuse_open_transaction(connection: AnyConnection) -> None:
    """Dequeue inside somebody's transaction would hold its locks, and its relaxed commit would be theirs."""
    if connection.info.transaction_status != TransactionStatus.IDLE:
        raise InTransaction(
            f"dequeue was called inside an open transaction: {InTransaction.__doc__}"
        )


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


def close_forgotten(connections: Sequence[AnyConnection], process: int) -> None:
    """Close what a forgotten queue left idle, in the process that opened it."""
    if process == os.getpid():
        for connection in connections:
            connection.pgconn.finish()

"""Installs or upgrades the queue over an async connection."""

from __future__ import annotations

import asyncio
from typing import Any

from psycopg import AsyncConnection
from psycopg.pq import TransactionStatus

from lonnymq.client.connection_state import ISOLATION
from lonnymq.client.installation import LOCK_TIMEOUT, LOCKED, InstallRetries, statements
from lonnymq.errors import translated


async def install_async(
    connection: AsyncConnection[Any] | str, *, schema: str = "lonnymq", roles: bool | None = None
) -> None:
    """Install or upgrade the queue in one transaction, or in the one that is open, which stays open.

    With `roles` its functions run with the rights of a role of their own, and are granted to roles by what each is
    for: docs/security.md. Without a word about it that stays as it is.
    """
    if isinstance(connection, str):
        async with await AsyncConnection.connect(
            connection, autocommit=True, prepare_threshold=None
        ) as own:
            return await install_async(own, schema=schema, roles=roles)
    with translated():
        if connection.info.transaction_status != TransactionStatus.IDLE:
            await connection.execute(statements(schema, roles).encode(), prepare=False)
            return None
        body = statements(schema, roles, LOCK_TIMEOUT).encode()
        retries = InstallRetries()
        while True:
            try:
                async with connection.transaction():
                    await connection.execute(ISOLATION, prepare=False)
                    await connection.execute(body, prepare=False)
                return None
            except LOCKED as error:
                await asyncio.sleep(retries.pause(error))

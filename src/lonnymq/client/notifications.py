"""Waits for notifications of the server, and for events of this process: each half of the client in its own way."""

from __future__ import annotations

import asyncio
import select
import threading
from collections.abc import Iterator
from typing import Any

from psycopg import AsyncConnection, Connection


def read_notifications(connection: Connection[Any], seconds: float) -> list[str]:
    """The payloads that arrive next, or none after some seconds."""
    poller = select.poll()
    poller.register(connection.fileno(), select.POLLIN)
    return list(received(connection)) if poller.poll(int(seconds * 1000)) else []


async def read_notifications_async(connection: AsyncConnection[Any], seconds: float) -> list[str]:
    """The payloads that arrive next, or none after some seconds."""
    loop, readable = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(connection.fileno(), readable.set)
    try:
        await wait_event_async(readable, seconds)
    finally:
        loop.remove_reader(connection.fileno())
    return list(received(connection)) if readable.is_set() else []


def received(connection: Connection[Any] | AsyncConnection[Any]) -> Iterator[str]:
    """The payloads that are there to be read."""
    connection.pgconn.consume_input()
    while (notification := connection.pgconn.notifies()) is not None:
        yield notification.extra.decode()


def wait_event(event: threading.Event, seconds: float | None) -> None:
    """Wait for an event, up to some seconds."""
    event.wait(seconds)


async def wait_event_async(event: asyncio.Event, seconds: float | None) -> None:
    """Wait for an event, up to some seconds."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        pass

"""The client: Queue and AsyncQueue, and the descriptions of the SQL functions that both are made of."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lonnymq.client._async.queue import AsyncMessage as AsyncMessage
    from lonnymq.client._async.queue import AsyncQueue as AsyncQueue
    from lonnymq.client._sync.install import install as install
    from lonnymq.client._sync.queue import Message as Message
    from lonnymq.client._sync.queue import Queue as Queue
    from lonnymq.client.calls.message import NewMessage as NewMessage
    from lonnymq.client.installation import install_script as install_script

HOMES = {
    "AsyncMessage": "_async.queue",
    "AsyncQueue": "_async.queue",
    "Message": "_sync.queue",
    "NewMessage": "calls.message",
    "Queue": "_sync.queue",
    "install": "_sync.install",
    "install_script": "installation",
}


if not TYPE_CHECKING:  # a type checker would take every name for a public one

    def __getattr__(name: str) -> Any:
        """Import a name when it is first used: a command that calls nothing needs no psycopg."""
        if name not in HOMES:
            raise AttributeError(f"module 'lonnymq.client' has no attribute {name!r}")
        return getattr(import_module(f"lonnymq.client.{HOMES[name]}"), name)

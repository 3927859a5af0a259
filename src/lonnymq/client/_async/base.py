"""The base of all methods of a queue: the schema, where connections come from, and how a call is run."""

from __future__ import annotations

from typing import Any, TypeVar

from lonnymq.client._async import connections
from lonnymq.client.adapters import run_using_async
from lonnymq.client.arguments import Duration, connection_count, timeout_seconds
from lonnymq.client.call import Call, schema_name

Answer = TypeVar("Answer")


class AsyncBase:
    """Over a DSN, a pool or a connection."""

    def __init__(
        self,
        source: Any,
        *,
        schema: str = "lonnymq",
        max_connections: int = 10,
        timeout_ms: Duration | None = 30_000,
    ) -> None:
        self.schema = schema_name(schema)
        self._source = connections.source_of(
            source,
            max_connections=connection_count(max_connections),
            timeout=timeout_seconds(timeout_ms),
        )

    async def _run(self, call: Call[Answer], using: Any = None) -> Answer:
        if using is None:
            return await connections.run(self._source, call)
        return await run_using_async(using, call)

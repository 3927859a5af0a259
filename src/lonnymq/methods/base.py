"""What every method of a queue stands on: the schema, where connections come from, and how a call is run."""

from __future__ import annotations

from typing import Any, TypeVar

from lonnymq import calls, connections, connections_async
from lonnymq.adapters import run_using, run_using_async
from lonnymq.calls import Call

Answer = TypeVar("Answer")


class Base:
    """Over a DSN, a pool or a connection."""

    def __init__(self, source: Any, *, schema: str = "lonnymq") -> None:
        self.schema = calls.schema_name(schema)
        self._source = connections.source_of(source)

    def _run(self, call: Call[Answer], using: Any = None) -> Answer:
        return connections.run(self._source, call) if using is None else run_using(using, call)


class AsyncBase:
    """Over a DSN, a pool or a connection."""

    def __init__(self, source: Any, *, schema: str = "lonnymq") -> None:
        self.schema = calls.schema_name(schema)
        self._source = connections_async.source_of(source)

    async def _run(self, call: Call[Answer], using: Any = None) -> Answer:
        if using is None:
            return await connections_async.run(self._source, call)
        return await run_using_async(using, call)

"""A bulk load described: the COPY, its rows, and the announcement that ends it, all in one transaction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from lonnymq.client.arguments import Bytes
from lonnymq.client.call import Call, schema_name
from lonnymq.client.calls.message import Checked, NewMessage, check_messages, message_announce
from lonnymq.client.calls.queue import epoch
from lonnymq.errors import InvalidArgument

PRIORITY_STEP_MS = 10**13  # a step of the SQL function message_rank


class Bulk:
    """Messages on their way in by COPY, which knows no capacity and fails on a key that is taken."""

    types = ("text", "bytea", "int8", "text", "text", "jsonb", "int8", "int4", "int4")

    def __init__(
        self, schema: str, messages: Iterable[Bytes | NewMessage], *, channel: str | None
    ) -> None:
        self.schema = schema_name(schema)
        self.messages = check_messages(messages, channel=channel)
        self.channels: set[str] = set()
        self.count = 0

    @property
    def statement(self) -> str:
        """The COPY."""
        columns = (
            "channel, content, dequeue_at, key, kind, headers, expires_at, max_attempts, priority"
        )
        return f"copy {self.schema}.message ({columns}) from stdin (format binary)"

    def clock(self) -> Call[int]:
        """What the time is, for delays to be added to."""
        return epoch(self.schema)

    def rows(self, now: int) -> Iterator[tuple[Any, ...]]:
        """The rows to copy, counted as they go."""
        for message in self.messages:
            self.channels.add(message.channel)
            self.count += 1
            yield copy_row(message, now)

    def announcement(self) -> Call[int]:
        """What tells the engine of the rows."""
        return message_announce(self.schema, self.channels)


def copy_row(message: Checked, now: int) -> tuple[Any, ...]:
    """One row of the COPY."""
    run_at = message.dequeue_at if message.dequeue_at is not None else now + (message.delay_ms or 0)
    headers = None if message.headers is None else json.loads(message.headers)
    row = message.channel, message.content, run_at, message.key, message.kind, headers
    if message.options is None:
        return *row, None, None, None
    given = message.options.get
    if wrong := message.options.keys() - {"expires_at", "max_attempts", "priority"}:
        raise InvalidArgument(f"copy takes no {min(wrong)}: use create_many")
    if given("priority") and not 0 <= run_at <= now:
        raise InvalidArgument(
            "copy takes a priority only for a message that is due: use create_many for later messages"
        )
    rank = run_at - (given("priority") or 0) * PRIORITY_STEP_MS
    return *row[:2], rank, *row[3:], given("expires_at"), given("max_attempts"), given("priority")

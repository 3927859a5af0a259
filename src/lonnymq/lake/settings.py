"""What channels were set to, for the lake: a row for each change that a sync sees; runs on the driver."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, astuple, fields
from typing import Any

import pyarrow as pa

from lonnymq.client import Queue
from lonnymq.lake.columns import OF_CHANNELS
from lonnymq.lake.place import CHANNELS, Lake
from lonnymq.lake.tables import made_table
from lonnymq.results import ChannelPolicy
from lonnymq.spark.read.schemas import INSTANT, arrow_schema

PAGE = 1_000
DEFAULTS = ""  # the name that no channel has
LIMIT = "queue_max_concurrency"
Policy = tuple[Any, ...]


class Settings:
    """What the lake knows of a source's channels, kept while a sync goes on."""

    def __init__(self, lake: Lake, source: str) -> None:
        self.lake, self.source = lake, source
        self.known, self.limit = last_known(lake, source)

    def sync(self, queue: Queue, limit: int | None) -> int:
        """Add what has changed; how many channels that were. `limit` is that of the whole queue."""
        found = list(policies(queue))
        defaults = next(policy_of(each) for each in found if each.channel == DEFAULTS)
        changed = [
            each
            for each in found
            if policy_of(each) != self.last(each.channel, defaults)
            or (each.channel == DEFAULTS and limit != self.limit)
        ]
        if changed:
            self.add(changed, at=queue.epoch(), limit=limit)
        return len(changed)

    def last(self, channel: str, defaults: Policy) -> Policy | None:
        """What the lake has of a channel; one that was never told of has the defaults."""
        return self.known.get(channel, None if channel == DEFAULTS else defaults)

    def add(self, changed: list[ChannelPolicy], *, at: int, limit: int | None = None) -> None:
        """Append rows, in one commit. `limit`, that of the whole queue, is written into the row of the defaults."""
        from deltalake import write_deltalake

        schema = arrow_schema(OF_CHANNELS)
        rows = [
            {
                **asdict(each),
                "taken_at": at * 1000,
                LIMIT: limit if each.channel == DEFAULTS else None,
            }
            for each in changed
        ]
        columns = {
            field.name: moments(rows) if field.type == INSTANT else values(rows, field)
            for field in schema
        }
        columns["source"] = pa.array([self.source] * len(rows), pa.string())
        write_deltalake(made_table(self.lake, CHANNELS), pa.table(columns), mode="append")
        self.known |= {each.channel: policy_of(each) for each in changed}
        if any(each.channel == DEFAULTS for each in changed):
            self.limit = limit


def moments(rows: list[dict[str, Any]]) -> Any:
    """When the rows were taken."""
    return pa.array([each["taken_at"] for each in rows], pa.int64()).view(INSTANT)


def values(rows: list[dict[str, Any]], field: Any) -> Any:
    """One column of the rows."""
    return pa.array([each[field.name] for each in rows], field.type)


def policy_of(policy: ChannelPolicy) -> Policy:
    """What is compared: all but the name."""
    return astuple(policy)[1:]


def policies(queue: Queue) -> Iterator[ChannelPolicy]:
    """The defaults, and the policies of all channels, by name."""
    after: str | None = None
    while page := queue.channel_policy_list(after=after, limit=PAGE):
        yield from page
        after = page[-1].channel


def last_known(lake: Lake, source: str) -> tuple[dict[str, Policy], int | None]:
    """What the lake has of each channel and of the whole queue's limit, the last of all that it was told."""
    table = made_table(lake, CHANNELS)
    if not table.file_uris():
        return {}, None
    rows = table.to_pyarrow_table(filters=[("source", "=", source)])
    names = [each.name for each in fields(ChannelPolicy)][1:]
    found = sorted(rows.to_pylist(), key=lambda row: row["taken_at"])
    limits = [row[LIMIT] for row in found if row["channel"] == DEFAULTS]
    known = {row["channel"]: tuple(row[name] for name in names) for row in found}
    return known, limits[-1] if limits else None

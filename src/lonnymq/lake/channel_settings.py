"""Channel settings in the lake: a row for each change that a sync sees; runs on the driver."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, astuple, fields
from typing import Any

import pyarrow as pa

from lonnymq.client import Queue
from lonnymq.lake.location import CHANNELS, Lake
from lonnymq.lake.tables import CHANNEL_COLUMNS, ensure_table
from lonnymq.results import ChannelPolicy
from lonnymq.spark.read.schemas import arrow_schema

PAGE_SIZE = 1_000
DEFAULTS = ""  # the name that no channel has
LIMIT = "queue_max_concurrency"
Policy = tuple[Any, ...]


class ChannelSettings:
    """The last settings of a source's channels in the lake, cached during a sync."""

    def __init__(self, lake: Lake, source: str) -> None:
        self.lake, self.source = lake, source
        self.known, self.limit = read_last_settings(lake, source)

    def sync(self, queue: Queue, limit: int | None) -> int:
        """Append changed settings, and return their number. `limit` is the limit of the whole queue."""
        found = list(list_policies(queue))
        defaults = next(comparable_policy(each) for each in found if each.channel == DEFAULTS)
        changed = [
            each
            for each in found
            if comparable_policy(each) != self.last(each.channel, defaults)
            or (each.channel == DEFAULTS and limit != self.limit)
        ]
        if changed:
            self.add(changed, at=queue.epoch(), limit=limit)
        return len(changed)

    def last(self, channel: str, defaults: Policy) -> Policy | None:
        """The last settings of a channel; a channel without rows has the defaults."""
        return self.known.get(channel, None if channel == DEFAULTS else defaults)

    def add(self, changed: list[ChannelPolicy], *, at: int, limit: int | None = None) -> None:
        """Append rows in one commit. The row of the defaults also holds the limit of the whole queue."""
        from deltalake import write_deltalake

        schema = arrow_schema(CHANNEL_COLUMNS).append(pa.field("source", pa.string()))
        rows = [
            {
                **asdict(each),
                "source": self.source,
                "taken_at": at * 1000,
                LIMIT: limit if each.channel == DEFAULTS else None,
            }
            for each in changed
        ]
        table = pa.Table.from_pylist(rows, schema=schema)
        write_deltalake(ensure_table(self.lake, CHANNELS), table, mode="append")
        self.known |= {each.channel: comparable_policy(each) for each in changed}
        if any(each.channel == DEFAULTS for each in changed):
            self.limit = limit


def comparable_policy(policy: ChannelPolicy) -> Policy:
    """A policy without the name of its channel, for comparison."""
    return astuple(policy)[1:]


def list_policies(queue: Queue) -> Iterator[ChannelPolicy]:
    """The defaults, and the policies of all channels, by name."""
    after: str | None = None
    while page := queue.channel_policy_list(after=after, limit=PAGE_SIZE):
        yield from page
        after = page[-1].channel


def read_last_settings(lake: Lake, source: str) -> tuple[dict[str, Policy], int | None]:
    """The last settings of each channel in the lake, and the last limit of the queue."""
    table = ensure_table(lake, CHANNELS)
    if not table.file_uris():
        return {}, None
    rows = table.to_pyarrow_table(filters=[("source", "=", source)])
    names = [each.name for each in fields(ChannelPolicy)][1:]
    found = sorted(rows.to_pylist(), key=lambda row: row["taken_at"])
    limits = [row[LIMIT] for row in found if row["channel"] == DEFAULTS]
    known = {row["channel"]: tuple(row[name] for name in names) for row in found}
    return known, limits[-1] if limits else None

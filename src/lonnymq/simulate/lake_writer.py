"""Writes synthetic history and its settings into a lake; needs no Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from lonnymq.errors import InvalidArgument
from lonnymq.results import ChannelPolicy, HistoryRow
from lonnymq.simulate.ring import Limits
from lonnymq.simulate.scenario import Scenario
from lonnymq.simulate.synthetic import to_arrow_table

if TYPE_CHECKING:
    from lonnymq.lake import Lake

BATCH = 100_000


def write_synthetic_history(
    rows: Sequence[HistoryRow],
    lake: Lake | str,
    *,
    source: str,
    scenario: Scenario,
    storage_options: Mapping[str, str] | None = None,
) -> int:
    """Write rows as a new source; returns their number."""
    from lonnymq.lake.channel_settings import DEFAULTS, ChannelSettings
    from lonnymq.lake.commit import commit_files
    from lonnymq.lake.parquet import WrittenFile, write_files

    location, name = create_source(lake, source, storage_options)
    batches = to_arrow_table(rows).to_batches(max_chunksize=BATCH)
    files = [
        WrittenFile(**file)
        for told in write_files(batches, location, name)
        for file in told.to_pylist()
    ]
    if not files:
        return 0
    commit_files(location, files, source=name)
    began = min(row.created_at for row in rows)
    policies = [make_policy(DEFAULTS, scenario.default_limits)]
    policies += [
        make_policy(channel, limits) for channel, limits in sorted(scenario.limits.items())
    ]
    ChannelSettings(location, name).add(policies, at=began, limit=scenario.max_concurrency)
    return sum(file.rows for file in files)


def create_source(
    lake: Lake | str, source: str, storage_options: Mapping[str, str] | None = None
) -> tuple[Lake, str]:
    """Create the lake if needed, and check that the source is new."""
    from lonnymq.lake.location import HISTORY, check_source_name, resolve_lake
    from lonnymq.lake.tables import ensure_table

    location, name = resolve_lake(lake, storage_options), check_source_name(source)
    if name in {each["source"] for each in ensure_table(location, HISTORY).partitions()}:
        raise InvalidArgument(
            f"the lake already has the source {name!r}: choose another --source, or another lake"
        )
    return location, name


def make_policy(channel: str, limits: Limits) -> ChannelPolicy:
    """Limits as a channel policy."""
    return ChannelPolicy(
        channel=channel, max_concurrency=limits.max_concurrency,
        min_interval_ms=limits.min_interval_ms, burst=limits.burst, max_size=None,
        when_full="reject", weight=limits.weight, max_attempts=5, paused=False,
    )  # fmt: skip

"""Reads a period of a lake's history as a workload, with the settings of that time; and
writes synthetic history and its settings into a lake; starts no Spark.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple

from lonnymq.errors import InvalidArgument, LonnyMQError
from lonnymq.results import ChannelPolicy, HistoryRow
from lonnymq.simulate.ring import Limits
from lonnymq.simulate.scenario import Scenario
from lonnymq.simulate.workload import AttemptRow, RecordedWorkload, build_workload
from lonnymq.text import format_time

if TYPE_CHECKING:
    import pyarrow as pa

    from lonnymq.lake import Lake

MAX_ROWS = 5_000_000  # about 2 GiB as a workload
LOOKAHEAD_MS = 86_400_000  # attempts of a period may end up to a day after the period
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
BATCH = 100_000


class NoHistory(LonnyMQError):
    """Choose another period, or sync the lake first: lonnymq lake sync."""


class Policy(NamedTuple):
    """The settings of a channel at a sync; the channel '' has the defaults and the limit of the queue."""

    channel: str
    taken_at: int
    max_concurrency: int | None
    min_interval_ms: int | None
    burst: int | None
    weight: int | None
    paused: bool | None
    queue_max_concurrency: int | None = None

    @property
    def limits(self) -> Limits:
        """The settings as limits of the scheduler."""
        return Limits(self.max_concurrency, self.min_interval_ms, self.burst or 1, self.weight or 1)


@dataclass(frozen=True, slots=True)
class LakeHistory:
    """The workload of a source in a period, the settings at its begin, and the changes of settings seen in it."""

    source: str
    begin: int
    end: int
    history: RecordedWorkload
    scenario: Scenario
    changed: list[str]

    @property
    def channels(self) -> set[str]:
        """The channels with messages or settings."""
        return {*self.history.work.names, *self.scenario.limits}


def read_lake_history(
    lake: Lake | str,
    *,
    source: str | None = None,
    begin: int | None = None,
    end: int | None = None,
    workers: int | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> LakeHistory:
    """The history of one source from `begin` on and before `end`, in epoch milliseconds; all of it if not given.

    Without a number of workers it is what was being worked on at the busiest moment.
    """
    from lonnymq.lake.location import CHANNELS, HISTORY, resolve_lake
    from lonnymq.lake.tables import find_table, open_table

    if begin is not None and end is not None and begin >= end:
        raise InvalidArgument("the period ends before it begins: --from must be before --to")
    location = resolve_lake(lake, storage_options)
    table = open_table(location, HISTORY)
    named = choose_source(source, table)
    rows = read_rows(table, named, begin, end)
    history = build_workload(rows, begin=begin, end=end)
    if not rows or history.counted == []:
        raise NoHistory(f"the lake has no attempts of that period. {NoHistory.__doc__}")
    first = min(row.created_at for row in rows) if begin is None else begin
    last = max(row.finished_at for row in rows) if end is None else end
    settings = find_table(location, CHANNELS)
    policies = [] if settings is None else read_policies(settings, named)
    limits, default_limits, limit, changed = find_settings(policies, first, last)
    many = workers or max(1, history.max_concurrent)
    known = Scenario(many, limits, default_limits, limit)
    return LakeHistory(named, first, last, history, known, changed)


def choose_source(source: str | None, table: Any) -> str:
    """The given source, or the only source of the lake."""
    known = sorted({each["source"] for each in table.partitions()})
    if not known:
        raise NoHistory(f"the lake has no history yet. {NoHistory.__doc__}")
    names = ", ".join(map(repr, known[:10]))
    if source is None:
        if len(known) > 1:
            raise InvalidArgument(
                f"the lake has {len(known)} sources: choose one with --source: {names}"
            )
        return str(known[0])
    if source not in known:
        like = get_close_matches(source, known) or known[:10]
        raise InvalidArgument(
            f"the lake has no source {source!r}, only {', '.join(map(repr, like))}"
        )
    return source


def read_rows(table: Any, source: str, begin: int | None, end: int | None) -> list[AttemptRow]:
    """Attempts that ended at `begin` or later, and at most LOOKAHEAD_MS after `end`."""
    import pyarrow.compute as pc

    finished, days = pc.field("finished_at"), [("source", "=", source)]
    chosen = finished.is_valid()
    for name in AttemptRow._fields:
        if name != "worker":
            chosen &= pc.field(name).is_valid()  # what has no times cannot be replayed
    if begin is not None:
        chosen &= finished >= pc.scalar(to_datetime(begin))
        days.append(("date", ">=", to_datetime(begin).date().isoformat()))
    if end is not None:
        chosen &= finished < pc.scalar(to_datetime(end + LOOKAHEAD_MS))
        days.append(("date", "<=", to_datetime(end + LOOKAHEAD_MS).date().isoformat()))
    data = table.to_pyarrow_dataset(file_pruning_predicate=days)
    many = data.count_rows(filter=chosen)
    if many > MAX_ROWS:
        raise InvalidArgument(
            f"the period has {many:,} attempts, but a replay takes {MAX_ROWS:,} at most: "
            "choose a shorter period with --from and --to"
        )
    return to_rows(data.to_table(columns=list(AttemptRow._fields), filter=chosen), AttemptRow)


def read_policies(table: Any, source: str) -> list[Policy]:
    """The settings of channels, in the order of time."""
    data = table.to_pyarrow_dataset(file_pruning_predicate=[("source", "=", source)])
    there = [each for each in Policy._fields if each in data.schema.names]
    found = to_rows(data.to_table(columns=there), Policy)  # an older lake knows less
    return sorted(found, key=lambda each: each.taken_at)


def to_rows(table: Any, kind: Any) -> list[Any]:
    """The rows of an Arrow table, with times in epoch milliseconds."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = []
    for name in kind._fields:
        if name not in table.column_names:
            columns.append([None] * table.num_rows)
            continue
        column = table.column(name)
        if pa.types.is_timestamp(column.type):
            column = pc.divide(column.cast(pa.int64()), 1000)
        columns.append(column.to_pylist())
    return list(map(kind._make, zip(*columns, strict=True)))


def find_settings(
    policies: Sequence[Policy], begin: int, end: int
) -> tuple[dict[str, Limits], Limits, int | None, list[str]]:
    """Each channel's limits at the beginning, those of the others, that of the whole queue, and what was seen to change
    before the end.

    What a sync saw first is taken to have been so before it.
    """
    at_first: dict[str, Policy] = {}
    for each in policies:
        if each.channel not in at_first or each.taken_at <= begin:
            at_first[each.channel] = each
    changed = []
    for each in policies:
        known = at_first[each.channel]
        if each is not known and not begin < each.taken_at < end:
            continue
        if each.limits != known.limits:
            changed.append(
                f"{format_channel(each.channel)} was changed before {format_time(each.taken_at)} UTC"
            )
        if each.queue_max_concurrency != known.queue_max_concurrency:
            changed.append(
                f"the limit of the whole queue was changed before {format_time(each.taken_at)} UTC"
            )
        if each.paused:
            changed.append(
                f"{format_channel(each.channel)} was paused before {format_time(each.taken_at)} UTC"
            )
    limits = {name: each.limits for name, each in at_first.items() if name}
    if "" not in at_first:
        return limits, Limits(), None, changed
    return limits, at_first[""].limits, at_first[""].queue_max_concurrency, changed


def format_channel(channel: str) -> str:
    """A channel's name in a sentence; the defaults have none."""
    return repr(channel) if channel else "the default for channels"


def to_datetime(epoch_ms: int) -> datetime:
    """Epoch milliseconds as a datetime in UTC."""
    return EPOCH + timedelta(milliseconds=epoch_ms)


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
    from lonnymq.lake.export import list_written, write_files

    location, name = create_source(lake, source, storage_options)
    batches = to_arrow_table(rows).to_batches(max_chunksize=BATCH)
    files = list_written(write_files(batches, location, name))
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


def to_arrow_table(rows: Iterable[HistoryRow]) -> pa.Table:
    """Rows of history as an Arrow table, with the columns and types of history in Spark."""
    import pyarrow as pa

    from lonnymq.spark.read.schemas import HISTORY, INSTANT, arrow_schema

    kept, columns, schema = list(rows), [], arrow_schema(HISTORY)
    for field in schema:
        values = [getattr(row, field.name) for row in kept]
        if field.type == INSTANT:
            values = [value * 1000 for value in values]
        elif field.name == "headers":
            values = [None if value is None else json.dumps(value) for value in values]
        columns.append(pa.array(values, field.type))
    return pa.table(columns, schema=schema)

"""A stretch of a lake's history as a workload, and the settings that it was recorded at; needs no Spark to run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple

from lonnymq.errors import InvalidArgument, LonnyMQError
from lonnymq.simulate.ring import Limits
from lonnymq.simulate.scenario import Scenario
from lonnymq.simulate.workload import Recorded, recorded

if TYPE_CHECKING:
    from lonnymq.lake import Lake

MOST_ROWS = 5_000_000  # about 2 GiB as a workload
LATER_MS = 86_400_000  # what came within a stretch is looked for until a day after its end
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class NothingRecorded(LonnyMQError):
    """Choose another stretch of time, or sync the lake first: lonnymq lake sync."""


class Row(NamedTuple):
    """What a replay needs of an attempt; times are epoch milliseconds."""

    message_id: int
    channel: str
    outcome: str
    created_at: int
    dequeue_at: int
    dequeued_at: int
    finished_at: int


class Policy(NamedTuple):
    """What a channel was allowed when a sync looked; the channel '' is all that have no row, and the whole queue."""

    channel: str
    taken_at: int
    max_concurrency: int | None
    release_interval_ms: int | None
    burst: int | None
    weight: int | None
    paused: bool | None
    queue_max_concurrency: int | None = None

    @property
    def limits(self) -> Limits:
        """As the scheduler takes it."""
        return Limits(
            self.max_concurrency, self.release_interval_ms, self.burst or 1, self.weight or 1
        )


@dataclass(frozen=True, slots=True)
class Stretch:
    """What was recorded of a source from one moment to another, at which settings, and what of them was changed."""

    source: str
    begin: int
    end: int
    history: Recorded
    known: Scenario
    changed: list[str]


def read_stretch(
    lake: Lake | str,
    *,
    source: str | None = None,
    begin: int | None = None,
    end: int | None = None,
    workers: int | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> Stretch:
    """The history of one source from `begin` on and before `end`, in epoch milliseconds; all of it if not given.

    Without a number of workers it is what was being worked on at the busiest moment.
    """
    from lonnymq.lake.location import CHANNELS, HISTORY, lake_at
    from lonnymq.lake.tables import find_table, table_at

    if begin is not None and end is not None and begin >= end:
        raise InvalidArgument("the stretch ends before it begins: --from comes before --to")
    place = lake_at(lake, storage_options)
    table = table_at(place, HISTORY)
    named = the_source(source, table)
    rows = read_rows(table, named, begin, end)
    history = recorded(rows, begin=begin, end=end)
    if not rows or history.counted == []:
        raise NothingRecorded(f"no attempt of that time is in the lake. {NothingRecorded.__doc__}")
    first = min(row.created_at for row in rows) if begin is None else begin
    last = max(row.finished_at for row in rows) if end is None else end
    settings = find_table(place, CHANNELS)
    policies = [] if settings is None else read_policies(settings, named)
    limits, otherwise, limit, changed = settings_of(policies, first, last)
    many = workers or max(1, history.most_at_once)
    known = Scenario(many, limits, otherwise, limit)
    return Stretch(named, first, last, history, known, changed)


def the_source(source: str | None, table: Any) -> str:
    """The source that is meant."""
    known = sorted({each["source"] for each in table.partitions()})
    if not known:
        raise NothingRecorded(f"the lake has no history yet. {NothingRecorded.__doc__}")
    names = ", ".join(map(repr, known[:10]))
    if source is None:
        if len(known) > 1:
            raise InvalidArgument(
                f"the lake has the history of {len(known)} sources, each with its own workers: "
                f"say which, with --source: {names}"
            )
        return str(known[0])
    if source not in known:
        like = get_close_matches(source, known) or known[:10]
        raise InvalidArgument(
            f"the lake has no source {source!r}; it has {', '.join(map(repr, like))}"
        )
    return source


def read_rows(table: Any, source: str, begin: int | None, end: int | None) -> list[Row]:
    """Attempts that ended at `begin` or later, and not too long after `end`."""
    import pyarrow.compute as pc

    finished, days = pc.field("finished_at"), [("source", "=", source)]
    chosen = finished.is_valid()
    for name in Row._fields:
        chosen &= pc.field(name).is_valid()  # what has no times cannot be replayed
    if begin is not None:
        chosen &= finished >= pc.scalar(moment(begin))
        days.append(("date", ">=", moment(begin).date().isoformat()))
    if end is not None:
        chosen &= finished < pc.scalar(moment(end + LATER_MS))
        days.append(("date", "<=", moment(end + LATER_MS).date().isoformat()))
    data = table.to_pyarrow_dataset(file_pruning_predicate=days)
    many = data.count_rows(filter=chosen)
    if many > MOST_ROWS:
        raise InvalidArgument(
            f"{many:,} attempts are of that time, and {MOST_ROWS:,} are the most that is replayed: "
            "choose a shorter stretch with --from and --to"
        )
    return as_rows(data.to_table(columns=list(Row._fields), filter=chosen), Row)


def read_policies(table: Any, source: str) -> list[Policy]:
    """What channels were set to, in the order of time."""
    data = table.to_pyarrow_dataset(file_pruning_predicate=[("source", "=", source)])
    there = [each for each in Policy._fields if each in data.schema.names]
    found = as_rows(data.to_table(columns=there), Policy)  # an older lake knows less
    return sorted(found, key=lambda each: each.taken_at)


def as_rows(table: Any, kind: Any) -> list[Any]:
    """The rows of an Arrow table, moments in epoch milliseconds."""
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


def settings_of(
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
            changed.append(f"{shown(each.channel)} was changed, as seen {shown_at(each.taken_at)}")
        if each.queue_max_concurrency != known.queue_max_concurrency:
            changed.append(
                f"the limit of the whole queue was changed, as seen {shown_at(each.taken_at)}"
            )
        if each.paused:
            changed.append(f"{shown(each.channel)} was paused, as seen {shown_at(each.taken_at)}")
    limits = {name: each.limits for name, each in at_first.items() if name}
    if "" not in at_first:
        return limits, Limits(), None, changed
    return limits, at_first[""].limits, at_first[""].queue_max_concurrency, changed


def shown(channel: str) -> str:
    """A channel's name in a sentence; the defaults have none."""
    return repr(channel) if channel else "what channels are by default"


def shown_at(epoch_ms: int) -> str:
    """A moment in UTC."""
    return f"{moment(epoch_ms):%Y-%m-%d %H:%M} UTC"


def moment(epoch_ms: int) -> datetime:
    """Epoch milliseconds as a moment in UTC."""
    return EPOCH + timedelta(milliseconds=epoch_ms)


def channels_of(stretch: Stretch) -> Iterable[str]:
    """The channels that can be set: those with messages, and those with settings."""
    return {*stretch.history.work.names, *stretch.known.limits}

"""(f) Growth: how long a dequeue of one takes as one thing grows and all else stays; the sizes take turns in one run.

Each timed dequeue is followed by a complete and a create, which are not timed, so that the size stays what it is.
"""

from __future__ import annotations

from collections.abc import Callable

from benchmarks import fixtures, tasks
from benchmarks.run import Run
from benchmarks.server import create_database, drop_database, vacuum_database
from benchmarks.summary_statistics import percentile
from lonnymq import Queue

NAME = "lonnymq"
Make = Callable[[str, int], None]


def channels(dsn: str, size: int) -> None:
    """With ten messages in each."""
    fixtures.load_messages(dsn, 10 * size, size)


def single(dsn: str, size: int) -> None:
    """With one in each, so that every dequeue takes the last of a channel, and every create brings one back."""
    fixtures.load_messages(dsn, size, size)


def waiting(dsn: str, size: int) -> None:
    fixtures.load_messages(dsn, size, 100)


def future(dsn: str, size: int) -> None:
    fixtures.load_messages(dsn, 10_000, 100)
    if size:
        fixtures.load_messages(dsn, size, 100, at=fixtures.FAR_FUTURE_MS)


def saturated(dsn: str, size: int) -> None:
    if size:
        fixtures.saturate_channels(dsn, size)
    fixtures.load_messages(dsn, 10_000, 100)


AXES: dict[
    str, tuple[Make, tuple[int, ...], tuple[int, ...]]
] = {  # what is made, sizes, sizes if quick
    "channels": (channels, (10, 1_000, 100_000), (10, 10_000)),
    "channels of one message": (single, (10, 100_000), (10, 10_000)),
    "waiting": (waiting, (1_000, 100_000, 5_000_000), (1_000, 200_000)),
    "in the future": (future, (0, 1_000_000), (0, 100_000)),
    "saturated channels": (saturated, (0, 10_000), (0, 1_000)),
}


def run(run: Run) -> None:
    for axis, (make, sizes, quick_sizes) in AXES.items():
        measure_axis(run, axis, make, quick_sizes if run.quick else sizes)
    run.drop_entrants()


def measure_axis(run: Run, axis: str, make: Make, sizes: tuple[int, ...]) -> None:
    group = run.get_entrant(NAME, 1, purpose="growth").group
    names = {size: f"growth_{axis.replace(' ', '_')}_{size}" for size in sizes}
    databases = {size: prepare(run, names[size], make, size) for size in sizes}
    rounds, calls = (2, 100) if run.quick else (max(run.repeat, 3), 800)
    for _ in range(rounds):
        found = group.call(tasks.time_dequeues, list(databases.values()), calls, timeout=300)
        for size, seconds in zip(sizes, found, strict=True):
            for share, title in ((0.5, "p50"), (0.99, "p99")):
                case = {"axis": axis, "size": size, "percentile": title}
                entry = run.record.entry("growth", case, NAME, "ms")
                entry.samples.append(round(percentile(seconds, share) * 1000, 4))
            entry.details.append({"calls_ms": [round(each * 1000, 3) for each in seconds]})
            run.log(f"growth · {size:,} {axis}: p50 {percentile(seconds, 0.5) * 1000:.2f} ms, "
                    f"p99 {percentile(seconds, 0.99) * 1000:.2f} ms")  # fmt: skip
    for name in names.values():
        drop_database(run.server.dsn, name)


def prepare(run: Run, name: str, make: Make, size: int) -> str:
    dsn = create_database(run.server.dsn, name)
    with Queue(dsn) as queue:
        queue.install()
    make(dsn, size)
    fixtures.fold_changes(dsn)
    vacuum_database(dsn)
    run.log(f"growth · {name} is loaded")
    return dsn

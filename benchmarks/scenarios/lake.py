"""(o) Lake: history from PostgreSQL into a lake, beside Spark's own JDBC into Parquet, from the same table of the same
server, the same columns."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import psycopg

from benchmarks.entrant import Measurement, time_call
from benchmarks.processes import SystemFailed
from benchmarks.run import Run
from benchmarks.scenarios.spark import (
    BY_HAND,
    CHANNELS,
    JAR,
    JDBC,
    create_second_queue,
    open_session,
    partition_options,
    read_jdbc,
    start_server,
)

T = TypeVar("T")
PER_TRANSACTION = 1_000
FEW = 20_000
OURS = "lonnymq lake sync"
# As settlements leave it: many transactions, one day after the other.
FINISHED = """
do $$ begin
  for v in 0..{transactions} - 1 loop
    insert into lonnymq.history (message_id, created_at, dequeue_at, dequeued_at, finished_at, size, attempt, outcome,
      channel, kind, worker)
    select i, 1893456000000 + i * {step}, 1893456000000 + i * {step}, 1893456000010 + i * {step},
      1893456000020 + i * {step}, 100, 1, 'completed', 'channel ' || i % {channels}, 'kind', 'worker ' || i % 10
    from generate_series(v * {rows}::bigint + 1, (v + 1) * {rows}::bigint) i;
    commit;
  end loop;
end $$
"""
DAYS = 3


def run(run: Run) -> None:
    with start_server() as dsn, open_session() as spark:
        rows = load_history(dsn, run.rows)
        run.log(f"lake: {rows:,} rows of history are there")
        bench, small = LakeBenchmark(run, spark, dsn, rows), create_second_queue(dsn)
        # The first of everything pays for Java, and for Python's workers.
        for name, do in LakeBenchmark(run, spark, small, load_history(small, FEW)).cases.items():
            if name == OURS or JAR.exists():
                run_in_folder(do)
        for _ in range(run.repeat):
            for name in bench.cases:
                bench.sample(name)


class LakeBenchmark:
    """The cases, over one session and one server."""

    def __init__(self, run: Run, spark: Any, dsn: str, rows: int) -> None:
        self.run, self.spark, self.dsn, self.rows = run, spark, dsn, rows
        self.cases: dict[str, Callable[[Path], int]] = {
            OURS: self.ours,
            JDBC: self.jdbc,
            BY_HAND: lambda folder: self.jdbc(folder, **partition_options(rows)),
        }

    def sample(self, name: str) -> None:
        def take() -> Measurement:
            if name != OURS and not JAR.exists():
                raise SystemFailed(
                    "needs Debian's libpostgresql-jdbc-java: scripts/system-packages installs it"
                )
            found: list[int] = []
            measured = run_in_folder(
                lambda folder: time_call(self.rows, lambda: found.append(self.cases[name](folder)))
            )
            if found != [self.rows]:
                raise SystemFailed(f"{found} rows of {self.rows} arrived")
            return measured

        self.run.sample("lake", {"what": "history to the lake"}, name, "rows/s", take)

    def ours(self, folder: Path) -> int:
        import lonnymq.lake

        all_workers = (
            self.rows if self.rows == FEW else None
        )  # a small table is cut for each of them
        return lonnymq.lake.sync(
            self.spark, folder / "lake", url=self.dsn, source="bench", rows=all_workers
        ).rows

    def jdbc(self, folder: Path, **options: Any) -> int:
        """With casts for the two columns whose types JDBC does not know; the rows are counted by Spark as they go."""
        casts = {"xid": "xid::text::bigint as xid", "headers": "headers::text as headers"}
        from lonnymq.lake.tables import HISTORY_COLUMNS

        columns = ", ".join(casts.get(each.name, each.name) for each in HISTORY_COLUMNS)
        table = f"(select {columns} from lonnymq.history) h"
        frame = read_jdbc(self.spark, self.dsn, table, **options)
        frame.write.parquet(str(folder / "history"))
        return int(self.spark.read.parquet(str(folder / "history")).count())


def run_in_folder(do: Callable[[Path], T]) -> T:
    """Do it in a folder that is there for that alone."""
    folder = Path(tempfile.mkdtemp(prefix="lonnymq-bench-"))
    try:
        return do(folder)
    finally:
        shutil.rmtree(folder)


def load_history(dsn: str, rows: int) -> int:
    """Put history there, over three days; how many rows there are."""
    many = max(1, rows // PER_TRANSACTION)
    step = max(1, DAYS * 86_400_000 // (many * PER_TRANSACTION))
    text = FINISHED.format(transactions=many, rows=PER_TRANSACTION, step=step, channels=CHANNELS)
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("set synchronous_commit = off")
        connection.execute(text.encode())
        connection.execute("vacuum analyze lonnymq.history")
    return many * PER_TRANSACTION

"""What the tasks of a write answer to the driver, which reads it in a process of its own."""

from __future__ import annotations

from dataclasses import dataclass, field

from pyspark.sql.datasource import WriterCommitMessage

from lonnymq.spark.write.counts import Counts


@dataclass
class Written(WriterCommitMessage):
    """What a task answers that has created its rows itself."""

    counts: Counts


@dataclass
class Staged(WriterCommitMessage):
    """What a task answers that has put its rows aside: where they are, and which part of which query it was."""

    part: int
    query: str | None = None
    stage: int | None = None
    rows: int = 0
    few: bytes = field(default=b"", repr=False)

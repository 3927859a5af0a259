"""What is confirmed to PostgreSQL must outlive a power cut: a commit's files, brought to the disk; on the driver."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lonnymq.lake.location import HISTORY, Lake
from lonnymq.lake.parquet import Written

AT_ONCE = 8


def to_disk(lake: Lake, files: Sequence[Written]) -> None:
    """Wait until a commit's files and the log that names them are on the disk; an object store does so by itself."""
    if not lake.is_local:
        return
    root = Path(lake.table(HISTORY))
    log = root / "_delta_log"
    data = [root / each.path for each in files]
    written = sorted(log.glob("*.json"))[-3:]  # ours, and what others may have added since
    flush([*data, *{each.parent for each in data}, *written, log])


def flush(paths: Iterable[Path]) -> None:
    """Wait for the disk, for all of them at once: it costs hardly more than for one."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(flush_one, paths))


def flush_one(path: Path) -> None:
    """Wait for the disk, for a file or a folder."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)

"""Where, when and with what a run was made: what a figure is worth nothing without."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
import psycopg

from benchmarks.systems import PLACES, contestant
from benchmarks.server import SETTINGS

SHOWN = (
    "fsync", "synchronous_commit", "full_page_writes", "shared_buffers", "max_wal_size", "checkpoint_timeout",
    "autovacuum", "jit", "max_connections",
)  # fmt: skip


def surroundings(dsn: str) -> dict[str, Any]:
    """Machine, versions, settings and the command."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": " ".join(["python", "-m", "benchmarks", *sys.argv[1:]]),
        "commit": commit(),
        "machine": machine(),
        "python": platform.python_version(),
        "psycopg": psycopg.__version__,
        "postgresql": one(dsn, "show server_version"),
        "settings": {name: one(dsn, f"show {name}") for name in SHOWN},
        "set_here": {name: str(value) for name, value in SETTINGS.items()},
        "contestants": {
            name: {"version": contestant(name).version(), "notes": contestant(name).notes}
            for name in PLACES
        },
    }


def machine() -> dict[str, Any]:
    return {
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "system": f"{platform.system()} {platform.release()}",
        "load_before": [round(each, 2) for each in os.getloadavg()],
    }


def cpu_name() -> str:
    known = Path("/proc/cpuinfo")
    lines = known.read_text().splitlines() if known.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def commit() -> str:
    found = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=10"],
        capture_output=True,
        text=True,
        check=False,
    )
    return found.stdout.strip() or "unknown"


def one(dsn: str, statement: str) -> str:
    with psycopg.connect(dsn) as connection:
        row = connection.execute(statement.encode()).fetchone()
    return str(row[0]) if row else ""

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

from benchmarks.server import SETTINGS
from benchmarks.systems import SYSTEMS, get_system

SHOWN = (
    "fsync", "synchronous_commit", "full_page_writes", "shared_buffers", "max_wal_size", "checkpoint_timeout",
    "autovacuum", "jit", "max_connections",
)  # fmt: skip


def describe_environment(dsn: str) -> dict[str, Any]:
    """Machine, versions, settings and the command."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": " ".join(["python", "-m", "benchmarks", *sys.argv[1:]]),
        "commit": read_commit(),
        "machine": describe_machine(),
        "python": platform.python_version(),
        "psycopg": psycopg.__version__,
        "postgresql": read_value(dsn, "show server_version"),
        "settings": {name: read_value(dsn, f"show {name}") for name in SHOWN},
        "set_here": {name: str(value) for name, value in SETTINGS.items()},
        "systems": {
            name: {"version": get_system(name).version(), "notes": get_system(name).notes}
            for name in SYSTEMS
        },
    }


def describe_machine() -> dict[str, Any]:
    return {
        "cpu": read_cpu_name(),
        "cores": os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "system": f"{platform.system()} {platform.release()}",
        "load_before": [round(each, 2) for each in os.getloadavg()],
    }


def read_cpu_name() -> str:
    known = Path("/proc/cpuinfo")
    lines = known.read_text().splitlines() if known.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def read_commit() -> str:
    found = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=10"],
        capture_output=True,
        text=True,
        check=False,
    )
    return found.stdout.strip() or "unknown"


def read_value(dsn: str, statement: str) -> str:
    with psycopg.connect(dsn) as connection:
        row = connection.execute(statement.encode()).fetchone()
    return str(row[0]) if row else ""

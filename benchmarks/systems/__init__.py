"""Everybody who takes part, by name."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from benchmarks.systems.base import System

SYSTEMS = {
    "lonnymq": "lonnymq:LonnyMQ",
    "lonnymq history off": "lonnymq:LonnyMQWithoutHistory",
    "lonnymq worker": "lonnymq:LonnyMQWorker",
    "pgmq archive": "pgmq:PgmqArchive",
    "pgmq pooled": "pgmq:PgmqPooled",
    "pgmq delete": "pgmq:PgmqDelete",
    "pgmq grouped": "pgmq:PgmqGrouped",
    "skip locked table": "skip_locked:SkipLockedTable",
    "channel table": "channel_table:ChannelTable",
    "PgQueuer": "pgqueuer:PgQueuer",
    "Procrastinate": "procrastinate:Procrastinate",
    "DBOS": "dbos:Dbos",
    "awa": "awa:Awa",
    "chancy": "chancy:Chancy",
}


@cache
def get_system(name: str) -> System:
    """The system of that name. What it needs of other packages it imports when it is used, in its own process."""
    module, kind = SYSTEMS[name].split(":")
    made: System = getattr(import_module(f"benchmarks.systems.{module}"), kind)()
    return made

"""The servers that a source's database has run on, as the table's log records them.

A failover, a restored backup or dump, or an upgrade moves a database to another server. Below the position at which the
lake left a server, lake and server have the same rows. Above that position the lake has rows of another server. A lake
that returns to a server rewinds to that position first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deltalake import DeltaTable

NOT_LEFT = 2**63 - 1
LogEntry = tuple[str, int]


@dataclass(frozen=True, slots=True)
class KnownServer:
    """A server by its hashed identity, and the position at which the lake left the server."""

    server_id: int
    left_at: int = NOT_LEFT


@dataclass(frozen=True, slots=True)
class ServerHistory:
    """The servers of a source, oldest first. The current server was not left."""

    source: str
    servers: tuple[KnownServer, ...] = ()

    def was_left(self, server_id: int) -> bool:
        """Whether the lake followed this server and then moved to another."""
        return self.left_at(server_id) < NOT_LEFT

    def left_at(self, server_id: int) -> int:
        """The position up to which lake and server have the same rows."""
        return next(
            (each.left_at for each in self.servers if each.server_id == server_id), NOT_LEFT
        )

    def is_current(self, server_id: int) -> bool:
        """Whether the lake follows this server. A lake without recorded servers follows any."""
        return not self.servers or KnownServer(server_id) in self.servers

    def moved_to(self, server_id: int, since: int) -> ServerHistory:
        """The history after a rewind to `since` and a move to this server."""
        others = (
            KnownServer(each.server_id, min(each.left_at, since))
            for each in self.servers
            if each.server_id != server_id
        )
        return ServerHistory(self.source, (*others, KnownServer(server_id)))

    def log_entries(self) -> tuple[LogEntry, ...]:
        """The log entries that record the servers."""
        kept: list[LogEntry] = [(f"lonnymq servers {self.source}", len(self.servers))]
        for number, each in enumerate(self.servers):
            kept.append((f"lonnymq server {self.source} {number}", each.server_id))
            kept.append((f"lonnymq left {self.source} {number}", each.left_at))
        return tuple(kept)


@dataclass(frozen=True, slots=True)
class Rewinds:
    """How often the lake rewound a source, and the position of the last rewind: rows from there on changed."""

    count: int | None = None  # None: never
    since: int = NOT_LEFT

    def next_entries(self, source: str, since: int) -> tuple[LogEntry, ...]:
        """The log entries of one more rewind."""
        return (rewind_count_key(source), (self.count or 0) + 1), (
            f"lonnymq rewound {source}",
            since,
        )


def rewind_count_key(source: str) -> str:
    """The key of the log entry that counts rewinds."""
    return f"lonnymq rewinds {source}"


def read_rewinds(table: DeltaTable, source: str) -> Rewinds:
    """The rewinds that a table's log records."""
    count = table.transaction_version(rewind_count_key(source))
    since = table.transaction_version(f"lonnymq rewound {source}")
    return Rewinds(count, NOT_LEFT if since is None else since)


def read_server_history(table: DeltaTable, source: str) -> ServerHistory:
    """The servers that a table's log records."""
    count = table.transaction_version(f"lonnymq servers {source}") or 0
    found = tuple(
        KnownServer(
            table.transaction_version(f"lonnymq server {source} {number}") or 0,
            table.transaction_version(f"lonnymq left {source} {number}") or 0,
        )
        for number in range(count)
    )
    return ServerHistory(source, found)

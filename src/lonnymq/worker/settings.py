"""The options of one worker process, checked: what `Worker` was given and what `run` changes."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from lonnymq.client import arguments
from lonnymq.client.arguments import MAX_NAME_BYTES, Duration, milliseconds, number, optional
from lonnymq.client.connection_state import MAX_CONNECTIONS
from lonnymq.errors import InvalidArgument

MAX_PORT = 65_535
LoggedErrors = Literal["location", "text", "traceback"]
TenantClass = Callable[[str], str]
MAX_CHANNELS = 1000
MIN_HEARTBEAT_SECONDS, MIN_CALL_SECONDS, MAX_CALL_SECONDS = 0.25, 1.0, 30.0


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one run in one process."""

    dsn: str
    schema: str
    name: str
    concurrency: int
    lease_ms: int
    shutdown_timeout_ms: int
    poll_interval_ms: int | None
    flush_interval_ms: int
    max_connections: int = MAX_CONNECTIONS
    log_errors: LoggedErrors = "location"
    tenant_class: TenantClass | None = None
    kinds: tuple[str | None, ...] | None = None  # that the worker takes: all if None
    channels: tuple[str, ...] | None = None

    @property
    def heartbeat_seconds(self) -> float:
        """The time limit of a heartbeat: a third of the lease, so that a second try is in time."""
        return max(MIN_HEARTBEAT_SECONDS, min(self.lease_ms / 3000, MAX_CALL_SECONDS))

    @property
    def call_seconds(self) -> float:
        """The time limit of other calls, which nobody needs after the lease."""
        return max(MIN_CALL_SECONDS, self.heartbeat_seconds)


def unique_worker_name(given: str | None) -> str:
    """Return a name that no other process has: the given name or the host's, the process id, and a random part."""
    base = (given or socket.gethostname()).encode()[: MAX_NAME_BYTES - 40].decode(errors="ignore")
    return f"{base}:{os.getpid()}:{secrets.token_hex(3)}"


def check_count(what: str, value: object) -> int:
    """Check a number of messages or processes."""
    return number(f"{what} must be a whole number from 1 to 10000", value, least=1, most=10_000)


def check_log_errors(value: object) -> LoggedErrors:
    """Check how much of an error is logged."""
    for known in get_args(LoggedErrors):
        if value == known:
            checked: LoggedErrors = known
            return checked
    raise InvalidArgument(f"log_errors must be 'location', 'text' or 'traceback', not {value!r}")


def check_tenant_class(value: object) -> TenantClass | None:
    """Check the function that classifies channels."""
    if value is not None and not callable(value):
        raise InvalidArgument(
            f"tenant_class must be a function from a channel to a class, not {value!r}"
        )
    return value


def check_kinds(kinds: Iterable[str | None] | None) -> tuple[str | None, ...] | None:
    """Check the kinds that a worker takes."""
    found = optional(arguments.kinds, "kinds", kinds)
    if found == []:
        raise InvalidArgument(
            "kinds must name at least one kind, or be None for all that have a handler"
        )
    return None if found is None else tuple(dict.fromkeys(found))


def check_channels(channels: Iterable[str] | None) -> tuple[str, ...] | None:
    """Check the channels that a worker takes messages from."""
    found = optional(arguments.names, "channels", channels)
    if found is not None and not 1 <= len(found) <= MAX_CHANNELS:
        raise InvalidArgument(f"channels must be from 1 to {MAX_CHANNELS} names, not {len(found)}")
    return None if found is None else tuple(found)


def check_lease(value: Duration) -> int:
    """Check the length of a lease."""
    allowed = "lease_ms must be from 100 ms to 30 days"
    return number(allowed, milliseconds("lease_ms", value), least=100, most=2_592_000_000)


def parse_address(given: str | int) -> tuple[str, int]:
    """Read host and port from `9100`, `'9100'` or `'0.0.0.0:9100'`. Without a host only this machine is served."""
    host, _, port = str(given).rpartition(":")
    if not port.isascii() or not port.isdigit() or int(port) > MAX_PORT:
        raise InvalidArgument(f"metrics must be a port or host:port, not {given!r}")
    return host.strip("[]") or "127.0.0.1", int(port)

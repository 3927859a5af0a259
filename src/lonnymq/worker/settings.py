"""What a worker was told about itself, for one run in one process."""

from __future__ import annotations

import os
import secrets
import socket
from dataclasses import dataclass

from lonnymq.client.arguments import MAX_NAME_BYTES


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one run."""

    dsn: str
    schema: str
    name: str
    concurrency: int
    lease_ms: int
    grace_ms: int
    poll_ms: int | None
    settle_ms: int


def worker_name(given: str | None) -> str:
    """A name that no other process has: the one given or the host's, the process, and some randomness."""
    base = (given or socket.gethostname()).encode()[: MAX_NAME_BYTES - 40].decode(errors="ignore")
    return f"{base}:{os.getpid()}:{secrets.token_hex(3)}"

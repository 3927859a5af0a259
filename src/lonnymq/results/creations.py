"""What came of a create."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

RefusalReason = Literal["full", "retiring"]


@dataclass(frozen=True, slots=True)
class Created:
    """The message is stored under this id, once the transaction commits."""

    id: int


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A live message of the channel already has the key; this is its id, and nothing was stored."""

    id: int


@dataclass(frozen=True, slots=True)
class Dropped:
    """The channel is full (or being released) and drops what comes: nothing was stored."""

    reason: RefusalReason
    size: int | None
    max_size: int | None


@dataclass(frozen=True, slots=True)
class Rejected:
    """The channel is full (or being released) and rejects: nothing was stored; a single create raises this instead."""

    reason: RefusalReason
    size: int | None
    max_size: int | None


CreateResult = Created | Duplicate | Dropped
CreateManyResult = Created | Duplicate | Dropped | Rejected

"""Which dead messages a command means: given ids, a channel's, a kind's, or all; counted, and chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lonnymq.cli.errors import Code, CommandError

if TYPE_CHECKING:
    from lonnymq.client import Queue

CHUNK = 1_000
PAGE = 10_000
COUNTED = 100_000


@dataclass(frozen=True)
class Choice:
    """The dead messages that are meant."""

    queue: Queue
    ids: list[int] | None
    channel: str | None
    kind: str | None

    @classmethod
    def of(
        cls,
        queue: Queue,
        ids: list[int] | None,
        channel: str | None,
        kind: str | None,
        *,
        every: bool,
    ) -> Choice:
        """The choice, or the rejection to guess."""
        ways = [bool(ids), channel is not None or kind is not None, every]
        if sum(ways) != 1:
            raise CommandError(
                "Say which dead messages: ids, or --channel and --kind, or --all.", Code.USAGE
            )
        return cls(queue, list(dict.fromkeys(ids)) if ids else None, channel, kind)

    @property
    def words(self) -> str:
        """The choice at the end of a sentence."""
        channel = f" of channel '{self.channel}'" if self.channel is not None else ""
        return channel + (f" of kind '{self.kind}'" if self.kind is not None else "")

    def count(self) -> tuple[int, bool]:
        """How many they are, and whether they were counted to the end."""
        total = 0
        for ids in self.chunks(PAGE):
            total += len(ids)
            if total >= COUNTED:
                return total, False
        return total, True

    def chunks(self, size: int = CHUNK) -> Iterator[list[int]]:
        """Their ids, so many at a time, in order; each is given once, whatever becomes of it."""
        if self.ids is not None:
            yield from (self.ids[at : at + size] for at in range(0, len(self.ids), size))
            return
        last: int | None = None
        while ids := self.queue.dead_ids(self.channel, kind=self.kind, after=last, limit=size):
            yield ids
            last = ids[-1]

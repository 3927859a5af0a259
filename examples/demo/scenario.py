"""The scenario of the demo: who the tenants are, what they do when, and what came of what they created."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lonnymq.client import NewMessage, Queue
from lonnymq.results import Created, CreateManyResult

FLOODING = "acme"
QUIET = ("bloom", "cedar", "delta", "ember")
FLOOD = 3_000
AT_ONCE = 16  # in the whole queue
LIMITS: dict[str, dict[str, Any]] = {
    "acme": {"max_concurrency": 10},
    "bloom": {"weight": 3},
    "cedar": {"min_interval_ms": 200, "burst": 2},
    "delta": {"max_size": 8},
    "ember": {"max_attempts": 3, "retry_delays_ms": [100, 200]},
}


@dataclass(frozen=True)
class Killed:
    """A worker that was killed: its process, its name, and the jobs that it held at that moment."""

    pid: int
    worker: str | None = None
    jobs: frozenset[int] = frozenset()


@dataclass
class Scenario:
    """What was done so far."""

    queue: Queue
    codec: Path
    created: set[int] = field(default_factory=set)
    answers: Counter[str] = field(default_factory=Counter)
    urgent: int | None = None
    poison: int | None = None
    upload: int | None = None
    later: int | None = None
    keyed: list[CreateManyResult] = field(default_factory=list)
    redriven: bool = False
    killed: Killed | None = None
    events: list[str] = field(default_factory=list)

    def note(self, results: list[CreateManyResult]) -> list[int]:
        """Remember what was created, and count the answers."""
        ids = [each.id for each in results if isinstance(each, Created)]
        self.created |= set(ids)
        self.answers.update(type(each).__name__.lower() for each in results)
        return ids

    def create(self, channel: str, kind: str, many: int = 1, **more: Any) -> list[int]:
        """Have a tenant create some jobs."""
        jobs = [NewMessage(f"video {n}".encode(), kind=kind, **more) for n in range(many)]
        return self.note(self.queue.create_many(jobs, channel=channel))

    def print(self, sentence: str) -> None:
        """Say what happens."""
        self.events.append(sentence)

    def begin(self) -> None:
        """Set the limits, and let the first tenant flood the queue."""
        self.queue.set(max_concurrency=AT_ONCE)
        for channel, options in LIMITS.items():
            self.queue.channel_set(channel, **options)
        for _ in range(3):
            self.create(FLOODING, "transcode", FLOOD // 3)
        self.print(f"{FLOODING} floods the queue with {FLOOD:,} jobs; four quiet tenants go on")

    def go_on(self) -> None:
        """Let each quiet tenant create a job, as it does all the time."""
        for tenant in QUIET:
            self.create(tenant, "transcode")

    def turns(self) -> Iterator[None]:
        """What happens beside that, one thing at a time."""
        [self.urgent] = self.create(FLOODING, "transcode", dequeue_at=-1)
        self.print(f"{FLOODING} has an urgent job: dequeue_at = -1 puts it before all its others")
        yield
        [self.upload] = self.create("bloom", "upload")
        self.print("bloom has an upload whose parts are not there yet: it defers, and remembers")
        yield
        [self.poison] = self.create("ember", "broken")
        self.print("ember has a video that nobody can decode: 3 attempts, then it is dead")
        yield
        before = self.answers["rejected"]
        self.create("delta", "transcode", 20)
        rejected = self.answers["rejected"] - before
        self.print(f"delta creates 20 at once and may hold 8: {rejected} are rejected")
        yield
        for _ in range(2):
            self.create_keyed("cedar", "publish")
        self.print(f"cedar publishes in 2 s, and asks twice by one key: {self.keyed}")
        if self.later is not None:
            self.print(f"why does it wait? {self.queue.explain(self.later).explanation}")
        yield

    def create_keyed(self, channel: str, key: str) -> None:
        """Have a tenant create a job for later, of which there shall be one."""
        job = NewMessage(b"video", kind="transcode", key=key, delay_ms=2_000)
        results = self.queue.create_many([job], channel=channel)
        self.keyed += results
        if ids := self.note(results):
            self.later = ids[0]

    def redrive(self) -> None:
        """Bring the codec, and let the dead job live again."""
        self.codec.touch()
        self.redriven = True
        answers = [each.answer for each in self.queue.dead_redrive(channel="ember")]
        self.print(
            f"the codec of the dead video is there now, and the video is redriven: {answers}"
        )

"""The interface of a system: how to install, load, create, and consume, all through its own public API."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from typing import Protocol, TypeVar

from benchmarks.load_control import LoadControl
from benchmarks.payload import Payload, channel_name, make_payload

T = TypeVar("T")
LOOK_SECONDS = 0.02
New = tuple[str, Payload]  # channel and message


class Producer(Protocol):
    """An open connection that creates messages."""

    def create_one(self, channel: str, message: Payload) -> None: ...

    def create_many(self, messages: Sequence[New]) -> None: ...

    def close(self) -> None: ...


class System(ABC):
    """One queue. Instances are made anew in every process, from the name."""

    name = ""
    package = ""  # on the registry; empty for what is in this tree
    has_tenants = False
    only_channels: tuple[int, ...] = ()  # where it is tried at these numbers of channels alone
    listens = False  # wakes up by itself on an idle queue: takes part in the latency scenario
    backlog = (
        200_000  # how many are preloaded for a drain; less where loading that many takes minutes
    )
    load_size = 1_000  # messages a call while preloading
    creates_many = True  # has a call that creates more than one
    notes = ""  # settings, and how it is used, for the record

    def consumers(self, batch: int) -> int:
        """How many processes drain best with batches of this size; found by trying."""
        return 4 if batch >= 100 else 8

    @abstractmethod
    def install(self, dsn: str) -> None:
        """Set up its tables in an empty database."""

    @abstractmethod
    def producer(self, dsn: str) -> Producer:
        """Open what one producer needs."""

    def load(self, dsn: str, count: int, channels: int) -> None:
        """Fill the queue by the fastest way that it has."""
        producer = self.producer(dsn)
        for part in chunks(make_messages(count, channels), self.load_size):
            producer.create_many(part)
        producer.close()

    @abstractmethod
    def consume(self, control: LoadControl, dsn: str, batch: int) -> None:
        """Take `batch` messages a call, handle and settle them, until the control says stop."""

    def listen(self, control: LoadControl, dsn: str, slots: int = 1) -> None:
        """Wait for messages as a worker does, so many at a time, until the control says stop."""
        self.consume(control, dsn, 1)

    def version(self) -> str:
        if not self.package:
            return "this tree"
        try:
            return version(self.package)
        except PackageNotFoundError:
            return "not installed"


def make_messages(count: int, channels: int, start: int = 0) -> Iterator[New]:
    """So many new messages, dealt out over the channels in turn."""
    for number in range(start, start + count):
        yield channel_name(number % channels), make_payload()


def chunks(items: Iterator[T], size: int) -> Iterator[list[T]]:
    while part := list(islice(items, size)):
        yield part


async def wait_until_stopped(control: LoadControl, stop: Callable[[], object]) -> None:
    """Wait until the control says stop, then stop the worker."""
    while not control.stopped:
        await asyncio.sleep(LOOK_SECONDS)
    stop()

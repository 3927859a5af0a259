"""What the driver's half of a stream does aside: settle one claim, and make another, while Spark is busy."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor


class Aside:
    """Two threads, one for each of the two; what goes wrong in them is raised by `join`."""

    def __init__(self) -> None:
        self.threads = ThreadPoolExecutor(2, thread_name_prefix="claims aside")
        self.settling: Future[None] | None = None
        self.making: Future[int] | None = None

    def settle(self, work: Callable[[], None]) -> None:
        """Begin to settle."""
        self.settling = self.threads.submit(work)

    def make(self, work: Callable[[], int]) -> None:
        """Begin to make a claim."""
        self.making = self.threads.submit(work)

    def join(self) -> int:
        """Wait for what was begun; how many messages are in the claim that was made."""
        settling, making = self.settling, self.making
        self.settling = self.making = None
        if settling is not None:
            settling.result()
        return making.result() if making is not None else 0

    def stop(self) -> None:
        """Begin nothing more, and wait for nothing."""
        self.threads.shutdown(wait=False, cancel_futures=True)

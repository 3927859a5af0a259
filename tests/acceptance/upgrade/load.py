"""A producer or a worker, with the library that PYTHONPATH names; tells at the end how it went.

load.py worker | producer DSN
"""

import json
import logging
import signal
import sys
import threading
import time
from importlib.metadata import version

from lonnymq import Queue, Worker

PAUSE = 0.002
logging.basicConfig(level=logging.INFO, stream=sys.stderr)
stopping = threading.Event()


def work(dsn: str) -> None:
    worker = Worker(dsn, concurrency=10, lease_ms=60_000)

    @worker.handler("job")
    async def job(content: bytes) -> None: ...

    worker.run()
    print(json.dumps({"version": version("lonnymq")}), flush=True)


def produce(dsn: str) -> None:
    """Create one by one; each create counts once it is answered."""
    created, errors, longest = 0, [], 0.0
    with Queue(dsn) as queue:
        last = time.monotonic()
        while not stopping.wait(PAUSE):
            try:
                queue.create(f"channel {created % 10}", b"x", kind="job")
            except Exception as error:
                errors.append(f"{type(error).__name__}: {error}")
                continue
            now = time.monotonic()
            longest, last, created = max(longest, now - last), now, created + 1
    about = {
        "version": version("lonnymq"),
        "created": created,
        "errors": errors,
        "longest": longest,
    }
    print(json.dumps(about), flush=True)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    what, dsn = sys.argv[1:]
    print("ready", flush=True)
    work(dsn) if what == "worker" else produce(dsn)

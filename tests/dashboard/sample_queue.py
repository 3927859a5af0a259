"""A queue with something of everything: waiting, scheduled, leased, dead and done messages, limits, a schedule."""

from typing import Any

from lonnymq import Queue
from support import message_id

HOSTILE = [
    "<script>alert(1)</script>",
    "'; drop table message; --",
    "a/b?c=d&e=%41#f",
    "\u202eright to left",
    "line\nbreak\ttab",
    '"quoted" \\ $$ {schema} %(name)s',
    "ünïcödé 🦄",
    "x" * 255,
]


def lease(queue: Queue, count: int = 1) -> Any:
    """So many leases."""
    return queue.dequeue(count, lease_ms=600_000, worker="w1")


def fill_queue(queue: Queue) -> dict[str, int]:
    """Fill a fresh queue; the ids of one message of each sort."""
    ids: dict[str, int] = {}
    done = queue.create("acme", b'{"video": 7}', kind="transcode", headers={"trace": "4bf92f35"})
    ids["completed"] = message_id(done)
    (message,) = lease(queue)
    queue.complete(message)
    ids["failed"] = message_id(queue.create("acme", b"\x00\xff binary"))
    (message,) = lease(queue)
    queue.fail(message, error="Traceback\n  File x, line 3\nValueError: no 17", retry_ms=3_600_000)
    queue.channel("broken").set(max_attempts=1)
    for number in range(3):
        ids["dead"] = message_id(queue.create("broken", f"job {number}".encode(), kind="import"))
        (message,) = lease(queue)
        queue.fail(message, error=f"Traceback\nKeyError: 'row {number}'")
    queue.create("broken", b"other")
    (message,) = lease(queue)
    queue.fail(message, error="OSError: disk full")
    ids["leased"] = message_id(queue.create("acme", b"running"))
    assert len(lease(queue)) == 1
    queue.channel("narrow").set(max_concurrency=1)
    queue.create("narrow", b"first")
    ids["saturated"] = message_id(queue.create("narrow", b"second"))
    assert len(lease(queue)) == 1
    assert len(lease(queue)) == 0
    ids["waiting"] = message_id(queue.create("acme", b"waits"))
    ids["scheduled"] = message_id(queue.create("later", b"x", delay_ms=3_600_000))
    queue.create("stopped", b"x")
    queue.channel("stopped").pause()
    for name in HOSTILE:
        queue.create(name, name.encode(), kind=name[:50])
    queue.schedule_set("nightly", channel="acme", cron="0 3 * * *", kind="report")
    queue.worker_seen(
        "w1", concurrency=10, running=2, stopping=False, about={"host": "h", "pid": 1}
    )
    queue.maintain()
    return ids

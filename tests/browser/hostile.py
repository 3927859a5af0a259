"""Texts that would do harm if a page took them for anything but text."""

from __future__ import annotations

from lonnymq import Queue
from support import message_id

SCRIPT = '<script>alert("channel")</script>'
IMAGE = '"><img src=x onerror=alert(1)>'
CHANNELS = [
    SCRIPT,
    IMAGE,
    "javascript:alert(1)",
    "a/b?c#d%25&e=f+g h",
    "..",
    "שלום \u202e cba \u202c עולם",
    "🦊🏳️‍🌈 fox & co",
    "line\nbreak\ttab",
    "'; drop table message; --",
    "{{7*7}} ${7*7} $$",
    "long-" + "x" * 250,
]
HTML = b"</code></pre><script>alert('content')</script><b>bold</b>"
ERROR = "Traceback (most recent call last):\n  <img src=x onerror=alert('error')>\nValueError: <b>bold</b> \u202e rtl"


def add_hostile(queue: Queue) -> dict[str, int]:
    """A message in each channel, one that failed, one that died; the ids by what they are."""
    ids: dict[str, int] = {}
    for key, content in {
        "html": HTML,
        "bytes": b"\x00\xff\xfe<b>",
        "large": b"<i>" * 30_000,
    }.items():
        made = queue.create(
            SCRIPT, content, kind=IMAGE, key=f"{key} {IMAGE}", headers={SCRIPT: {"deep": IMAGE}}
        )
        ids[key] = message_id(made)
    queue.create(SCRIPT, b"dies", kind=SCRIPT)
    batch = queue.dequeue(limit=100, worker=SCRIPT)
    for message in batch:
        if message.content == b"dies":
            ids["dead"] = message.id
            message.fail(ERROR, dead=True)
        else:
            message.fail(ERROR, retry_ms=3_600_000)
    for name in CHANNELS[1:]:
        queue.create(name, HTML, kind=SCRIPT)
    for moment in (-5, 2**62):
        queue.create("times", b"when?", dequeue_at=moment)
    queue.worker_seen(
        SCRIPT, concurrency=3, about={"host": IMAGE, "pid": SCRIPT, "kinds": [SCRIPT]}
    )
    queue.schedule_set(SCRIPT, channel=SCRIPT, kind=IMAGE, every_ms=3_600_000)
    return ids

"""A queue as one meets it in life, for the page to show: tenants, a flood, limits, what is dead, schedules, workers."""

from __future__ import annotations

import json
import math
import random
from typing import Any

import psycopg

from lonnymq import Queue

HOUR = 3_600_000
TRACEBACK = """\
Traceback (most recent call last):
  File "/srv/videos/jobs.py", line 48, in encode
    frames = read_frames(video)
             ^^^^^^^^^^^^^^^^^^
  File "/srv/videos/media.py", line 112, in read_frames
    raise ValueError(f"cannot parse {name!r}")
ValueError: cannot parse 'cats-{number}.mov'"""
REJECTED = "ConnectionRefusedError: [Errno 111] mail.example:25 rejected the connection"
TENANTS = ("hooli", "wonka-industries", "stark", "vandelay", "soylent", "wayne-enterprises")


def fill(dsn: str, schema: str = "lonnymq") -> Queue:
    """Fill a fresh queue; what comes later does not disturb the states that came before."""
    queue = Queue(dsn, schema=schema)
    add_dead(queue)
    add_limited(queue)
    add_waiting(queue)
    add_staff(queue)
    return queue


def video(number: int) -> bytes:
    return json.dumps(
        {"video": f"cats-{number}.mov", "seconds": 60 + number, "codec": "av1"}
    ).encode()


def add_dead(queue: Queue) -> None:
    """Nine that cannot be parsed, each after two attempts, and four whose mail server is away."""
    for number in range(9):
        tenant = ("acme", "wonka-industries", "hooli")[number % 3]
        queue.create(tenant, video(number), kind="encode", headers={"tenant": tenant})
    for retry in (True, False):
        for message in queue.dequeue(limit=100, worker="videos-web-1-812"):
            number = json.loads(message.content)["seconds"] - 60
            error = TRACEBACK.replace("{number}", str(number))
            message.fail(error, **({"retry_ms": 0} if retry else {"dead": True}))
    for _ in range(4):
        queue.create("globex", b'{"to": "ada@example.org"}', kind="mail")
    for message in queue.dequeue(limit=100, worker="mail-web-2-77"):
        message.fail(REJECTED, dead=True)


def add_limited(queue: Queue) -> None:
    """One tenant at its concurrency limit, one slowed by its rate, one paused, one with a time to come."""
    queue.channel_set("acme", max_concurrency=2, max_size=1_000)
    queue.channel_set("globex", min_interval_ms=900_000)
    for number in range(40):
        queue.create("acme", video(number), kind="encode", key=f"cats-{number}")
    queue.create_many([b'{"to": "ada@example.org"}'] * 13, channel="globex")
    for message in queue.dequeue(limit=100, lease_ms=HOUR, worker="videos-web-1-812"):
        if message.channel == "globex":
            message.complete()
    queue.channel_set("initech", weight=3)
    queue.channel_pause("initech")
    queue.create_many([b"TPS report"] * 7, channel="initech")
    for number in range(24):
        queue.create("umbrella", b"later", kind="remind", delay_ms=900_000 + number * 60_000)


def add_waiting(queue: Queue) -> None:
    """A tenant that floods the queue, and quiet ones beside it."""
    long_ago = queue.epoch() - 400_000
    flood = [video(number) for number in range(1_500)]
    queue.create_many(flood[:1_000], channel="northwind-media")
    queue.create_many(flood[1_000:], channel="northwind-media")
    queue.create("northwind-media", video(0), kind="encode", dequeue_at=long_ago)
    for place, tenant in enumerate(TENANTS):
        for number in range(place + 2):
            queue.create(tenant, video(number), kind="encode")


def add_staff(queue: Queue) -> None:
    """Workers, one of them silent, and schedules, one of them paused."""
    for number, running in enumerate((2, 20, 7)):
        about = {
            "host": f"web-{number + 1}",
            "pid": 812 + number,
            "kinds": ["encode", "thumbnail", "report"],
            "completed": 18_123 * (number + 1),
            "retrying": 12 * number,
            "dead": number,
        }
        name = f"videos-web-{number + 1}-{812 + number}"
        queue.worker_seen(name, concurrency=20, running=running, about=about, interval_ms=HOUR)
    queue.worker_seen(
        "mail-web-2-77",
        concurrency=5,
        about={"host": "web-2", "pid": 77, "kinds": ["mail"]},
        interval_ms=1,
    )
    zone = "Europe/Berlin"
    queue.schedule_set(
        "nightly-report", channel="house", kind="report", cron="0 3 * * *", timezone=zone
    )
    queue.schedule_set("usage", channel="house", kind="usage", every_ms=900_000, misfire="skip")
    queue.schedule_set(
        "newsletter", channel="globex", kind="mail", cron="30 8 * * 1", timezone=zone
    )
    queue.schedule_pause("newsletter")


def add_past(dsn: str, schema: str = "lonnymq", *, days: float = 1.0, seed: int = 7) -> None:
    """Samples of the last day, with a quiet night, a flood and a gap."""
    chance = random.Random(seed)
    with psycopg.connect(dsn, autocommit=True) as connection:
        row = connection.execute(f"select {schema}.epoch()").fetchone()
        now: int = row[0] if row else 0
        with connection.cursor().copy(SAMPLES.format(schema=schema)) as copy:
            for sample in samples(now, int(days * 24 * HOUR), chance):
                copy.write_row(sample)
        with connection.cursor().copy(CHANNEL_SAMPLES.format(schema=schema)) as copy:
            for sample in minutes(now, int(days * 24 * HOUR), chance):
                copy.write_row(sample)


SAMPLES = (
    "copy {schema}.sample (at, seen, last_id, created, completed, failed, deferred, expired, died,"
    " waiting, running, dead, oldest_ms, workers, whole, all_channels) from stdin"
)
CHANNEL_SAMPLES = (
    "copy {schema}.channel_sample (channel, at, completed, failed, deferred, expired, died, wait_ms, run_ms)"
    " from stdin"
)


def samples(now: int, span: int, chance: random.Random) -> list[tuple[Any, ...]]:
    """One every ten seconds; none for some minutes, as when all workers were away."""
    rows: list[tuple[Any, ...]] = []
    waiting, step = 240.0, 10_000
    for number in range(span // step, 0, -1):
        ago = number * step
        if 2_640_000 < ago < 2_820_000:
            continue
        busy = 1.0 + 0.7 * math.sin((now - ago) / 86_400_000 * 2 * math.pi)
        flood = 480 if 1_200_000 < ago < 1_480_000 or abs(ago - 9 * HOUR) < 900_000 else 0
        created = int(90 * busy + flood + chance.random() * 25)
        completed = min(int(waiting) + created, int(150 + chance.random() * 20))
        waiting += created - completed
        failed = int(chance.random() * 3)
        running = min(58, 6 + completed // 14 + chance.randrange(4))
        oldest = int(waiting * 60)
        workers = 3 if ago < 12 * HOUR else 2
        counts = (created, completed, failed, 0, 0, 0)
        stood = (int(waiting), running, 13, oldest, workers, True, True)
        rows.append((now - ago, "1:1:", number, *counts, *stood))
    return rows


def minutes(now: int, span: int, chance: random.Random) -> list[tuple[Any, ...]]:
    """What became of one tenant's attempts, minute by minute; some of them failed."""
    rows: list[tuple[Any, ...]] = []
    for number in range(span // 60_000, 0, -1):
        completed, failed = 17 + chance.randrange(6), int(chance.random() * 1.6)
        ended = completed + failed
        wait = ended * (2_500 + 18 * (number % 150) + chance.randrange(900))
        run = ended * (650 + chance.randrange(200))
        at = (now // 60_000 - number) * 60_000
        rows.append(("acme", at, completed, failed, 0, 0, 0, wait, run))
    return rows

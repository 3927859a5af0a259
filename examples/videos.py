"""A worker for a video service: `python examples/videos.py`, or `lonnymq worker examples.videos:worker`.

Handlers of three kinds, one of them in threads and in batches; a schedule; a hook that counts.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass

from lonnymq import Context, Dead, RetryAfter, SyncContexts, Worker

worker = Worker(concurrency=20)
counts: Counter[str] = Counter()


@dataclass
class Video:
    name: str
    seconds: int


@worker.handler("encode", retry_delays_ms=[100, 1_000])
async def encode(video: Video, context: Context) -> None:
    if video.seconds <= 0:
        raise Dead(f"{video.name} is empty")
    if video.seconds > 3600 and context.attempt == 1:
        raise RetryAfter(200, "long videos wait for a quiet moment")
    await asyncio.sleep(video.seconds / 10_000)
    await context.queue.create(context.channel, context.message.content, kind="thumbnail")


@worker.handler("thumbnail", batch=10)
def thumbnails(videos: list[Video], contexts: SyncContexts) -> None:
    for video, context in zip(videos, contexts, strict=True):
        print(f"{context.channel}: a thumbnail of {video.name}", flush=True)


@worker.handler("report")
async def report() -> None:
    print("so far:", dict(counts), flush=True)


@worker.after
def count(context: Context, answer: str) -> None:
    counts[f"{context.kind} {answer}"] += 1


worker.schedule("report", channel="house", kind="report", every_ms=1_000)

if __name__ == "__main__":
    worker.run()

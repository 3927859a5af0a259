"""Measures how long each view of the dashboard takes on a large queue, on a server of its own.

.venv/bin/python scripts/measure_dashboard.py --messages 5000000 --channels 100000

First the page, which `lonnymq dashboard` serves in a process of its own, in headless Chromium with an empty cache: from
the beginning of the navigation until a frame is drawn in which the view is whole, that is, has its heading, all of its
parts, and nothing that still waits for an answer. The first opening of each is told apart from the six after it.
The stream of events is not among the requests, for it does not end.
Then what the API takes for each view, asked in this process, with nothing at hand.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx
import psycopg

from lonnymq import install
from lonnymq.dashboard import create_app
from lonnymq.embedded_postgres import temporary

VIEWS = (
    "overview",
    "series?span=day",
    "channels",
    "channels?sort=waiting",
    "channels?sort=oldest",
    "channels?sort=running",
    "channels?sort=rate",
    "channels?sort=dead",
    "channels?search=tenant 999",
    "channels?search=nt 99",
    "channels?state=ready",
    "channel?name=tenant 7",
    "channel/series?name=tenant 7&span=day",
    "messages?channel=tenant 7",
    "messages/1000",
    "dead/groups",
    "dead",
    "workers",
    "attention",
    "kinds",
    "find",
    "find?state=running",
    "find?state=retrying",
    "find?key=nothing",
    "find?field=user.id&value=7",
    "find?channel=tenant 7&kind=nothing",
)
MESSAGES = """
insert into lonnymq.message (channel, content, dequeue_at)
select 'tenant ' || case i / %(channels)s %% 10 when 0 then 7 else i %% %(channels)s end,
  convert_to('payload ' || i, 'UTF8'), 1000 + i
from generate_series(1, %(messages)s) as i
"""
NOTES = """
insert into lonnymq.change (channel, dequeue_at, message_id)
select distinct on (channel) channel, dequeue_at, id from lonnymq.message
order by channel, dequeue_at, id
"""
FOLD = "select f.answer from lonnymq.fold_lock() as mine cross join lonnymq.fold_run(lonnymq.epoch()) as f where mine"
DEAD = """
insert into lonnymq.dead (id, dequeue_at, created_at, died_at, attempt, channel, content, error)
select -i, 1, 1, 1, 5, 'tenant ' || i % 1000, 'x', 'ValueError: ' || i
from generate_series(1, 200000) as i
"""
HISTORY = """
insert into lonnymq.history (message_id, created_at, dequeue_at, dequeued_at, finished_at, size,
  attempt, outcome, channel)
select i, 1, 1, 1, lonnymq.epoch() - i / 10, 1, 1, 'completed', 'tenant ' || i % 1000
from generate_series(1, 1000000) as i
"""


def fill(connection: psycopg.Connection[Any], messages: int, channels: int) -> None:
    """Messages, a tenth of them in one channel; dead ones, attempts that ended, leases."""
    connection.execute("set synchronous_commit = off")
    connection.execute(MESSAGES, {"messages": messages, "channels": channels})
    connection.execute(NOTES)
    while connection.execute("select 1 from lonnymq.change limit 1").fetchone():
        connection.execute(FOLD)
    connection.execute(DEAD)
    connection.execute(HISTORY)
    for _ in range(20):
        connection.execute("select count(*) from lonnymq.message_dequeue(100, 600000)")
    connection.execute("select * from lonnymq.queue_maintain()")


async def measure(dsn: str) -> None:
    """Ask for every view once with nothing at hand, and twice more."""
    app = create_app({"jobs": dsn})
    app.state.dashboard.cache.seconds = 0
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://page", timeout=60) as client:
        for view in VIEWS:
            times = []
            for _ in range(3):
                began = time.perf_counter()
                answer = await client.get(f"/api/queues/jobs/{view}")
                times.append((time.perf_counter() - began) * 1000)
                answer.raise_for_status()
            print(f"{view:28} first {times[0]:6.0f} ms, then {min(times[1:]):6.0f} ms", flush=True)
    await app.state.dashboard.queues["jobs"].close()


PAGES = {
    "overview": (
        "[aria-label='Figures, live']",
        "[aria-label^='Waiting: ']",
        "[aria-label^='Messages in and out']",
        "table tbody tr:nth-child(10)",
    ),
    "channels": ("table tbody tr:nth-child(20)",),
    "channel/tenant%207": ("table tbody tr:nth-child(20)",),
    "dead": ("table tbody tr",),
}
WATCH = """
(wanted) => {
  const look = () => {
    const isWhole = document.querySelector("main h1") && !document.querySelector("[aria-busy=true]")
      && wanted.every((each) => document.querySelector(each));
    if (!isWhole) return requestAnimationFrame(look);
    requestAnimationFrame(() => { window.wholeAt = performance.now() });
  };
  look();
}
"""
FETCHED = """
() => {
  const all = ["navigation", "resource"].flatMap((kind) => performance.getEntriesByType(kind));
  const bytes = all.reduce((sum, each) => sum + each.transferSize, 0);
  return `${all.length} requests, ${Math.round(bytes / 1024)} KiB`;
}
"""
OPENINGS = 7


def browse(dsn: str) -> None:
    """Open each page in a new window of a real browser, several times."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium")
    if program is None:
        sys.exit("needs the Debian package chromium: scripts/system-packages installs it")
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)
    with dashboard(dsn) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=options)
        browser.new_page().goto("about:blank")  # its own start is not the page's
        for place, wanted in PAGES.items():
            first, *more = [opened(browser, address, place, wanted) for _ in range(OPENINGS)]
            times = f"first {first.ms:6.0f} ms, then {statistics.median(each.ms for each in more):6.0f} ms"
            most = f"of {len(more)}: up to {max(each.ms for each in more):.0f} ms"
            print(f"page {place:23} {times} ({most}), {first.fetched}", flush=True)
        browser.close()


class Opening(NamedTuple):
    """How long it took until a page was whole, and what the browser fetched for it."""

    ms: float
    fetched: str


def opened(browser: Any, address: str, place: str, wanted: tuple[str, ...]) -> Opening:
    """Open a page in a window that knows nothing of it yet, until it is whole."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.add_init_script(f"({WATCH})({list(wanted)!r})")
    page.goto(f"{address}#/lonnymq/{place}", wait_until="commit")
    for _ in range(3_000):
        took = page.evaluate("window.wholeAt")  # the page's rules let nothing else look at it
        if took is not None:
            fetched = page.evaluate(FETCHED)
            context.close()
            return Opening(float(took), fetched)
        page.wait_for_timeout(20)
    sys.exit(f"{place} was not whole within a minute: {page.inner_text('main')}")


@contextmanager
def dashboard(dsn: str) -> Iterator[str]:
    """`lonnymq dashboard` as a process; yields its address."""
    command = [sys.executable, "-m", "lonnymq.cli", "dashboard", "--dsn", dsn, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()[-1]
        finally:
            process.send_signal(signal.SIGTERM)


def main() -> None:
    """Fill a queue and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=5_000_000)
    parser.add_argument("--channels", type=int, default=100_000)
    given = parser.parse_args()
    with temporary() as server:
        install(server.dsn, schema="lonnymq")
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            fill(connection, given.messages, given.channels)
        browse(server.dsn)
        asyncio.run(measure(server.dsn))


if __name__ == "__main__":
    main()

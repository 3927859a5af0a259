"""Connections cut before and after COMMIT: the caller does not know; with a key there is exactly one message."""

from __future__ import annotations

import threading
import time
from collections import Counter

import psycopg

from faults.journal import Journal
from faults.proxy import proxy
from faults.run import Run, crew_of
from faults.stand import Stand
from lonnymq import Queue
from lonnymq.errors import LonnyMQError
from lonnymq.results import Created, Duplicate

SIZES = {
    "test": {"cuts": 40, "threads": 2},
    "ci": {"cuts": 1_000, "threads": 4},
    "soak": {"cuts": 5_000, "threads": 4},
}


def play(run: Run) -> None:
    """Each create is cut once, before or after its commit, and tried again under its name."""
    with run.stand() as server, crew_of(run) as crew:
        counts: list[Counter[str]] = [Counter() for _ in range(run.threads)]
        each = run.cuts // run.threads
        threads = [
            threading.Thread(target=produce, args=(run, server, number, each, counts))
            for number in range(run.threads)
        ]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            threads[0].join(timeout=3)
            run.say(f"{sum(each['before'] + each['after'] for each in counts)} cuts")
            time.sleep(0.05)
        told = sum(counts, Counter())
        run.fault("cut_before_commit", told["before"])
        run.fault("cut_after_commit", told["after"])
        run.result.figures |= {
            f"there after a cut {when} COMMIT": f"{told[f'{when} there']} of {told[when]}"
            for when in ("before", "after")
        }
        exactly_one(run, server, each * run.threads)
        as_cut = told["after there"] == told["after"] and not told["before there"]
        run.must(as_cut, "unknown", f"{told}: after COMMIT all are there, before it none")
        crew.add("worker", dsn=server.dsn)
        run.drain(server, seconds=120)
        crew.end()
        run.judge(server)


def produce(run: Run, server: Stand, number: int, count: int, told: list[Counter[str]]) -> None:
    """Create so many, each cut once, through a proxy of this producer's own."""
    journal = Journal(run.folder / "journal" / f"producer-{number}.jsonl")
    mine = told[number]
    with proxy(server.server.cluster.socket_folder) as own, Queue(own.dsn) as queue:
        for at in range(count):
            when = ("before", "after")[at % 2]
            own.cut(when, b"message_create")
            was_there = create_with_key(queue, journal, f"tenant-{number}", f"cut-{number}-{at}")
            mine[when] += 1
            mine[f"{when} there"] += was_there
        run.must(own.cuts == count, "unknown", f"{own.cuts} of {count} were cut")


def create_with_key(queue: Queue, journal: Journal, channel: str, label: str) -> bool:
    """Create a message under its key until somebody says that it is there; whether it was there before."""
    while True:
        call = journal.begin("create", labels=[label], channels=[channel])
        try:
            made = queue.create(channel, label.encode(), key=label, kind="quick")
        except (psycopg.Error, LonnyMQError, OSError) as error:
            journal.failed(call, "create", error)
            continue
        assert isinstance(made, (Created, Duplicate))
        journal.end(call, "create", "ok", ids=[made.id])
        return isinstance(made, Duplicate)


def exactly_one(run: Run, server: Stand, total: int) -> None:
    """No key twice, none missing."""
    query = "select count(*), count(distinct key) from lonnymq.message where key is not null"
    with server.connect() as connection:
        row = connection.execute(query).fetchone()
    run.must(row == (total, total), "unknown", f"{row} messages and keys, meant were {total}")

"""Connections cut before and after COMMIT: the caller does not know; with a key there is exactly one message."""

from __future__ import annotations

import threading
import time
from collections import Counter

import psycopg

from faults.call_log import CallLog
from faults.environment import Environment
from faults.proxy import proxy
from faults.run import Run, running_processes
from lonnymq import Queue
from lonnymq.errors import LonnyMQError
from lonnymq.results import Created, Duplicate

SIZES = {
    "test": {"cuts": 40, "threads": 2},
    "ci": {"cuts": 1_000, "threads": 4},
    "soak": {"cuts": 5_000, "threads": 4},
}


def run_scenario(run: Run) -> None:
    """Each create is cut once, before or after its commit, and tried again under its key."""
    with run.open_environment() as server, running_processes(run) as processes:
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
            run.log(f"{sum(each['before'] + each['after'] for each in counts)} cuts")
            time.sleep(0.05)
        counts_by_cut = sum(counts, Counter())
        run.count_fault("cut_before_commit", counts_by_cut["before"])
        run.count_fault("cut_after_commit", counts_by_cut["after"])
        run.result.figures |= {
            f"there after a cut {when} COMMIT": f"{counts_by_cut[f'{when} there']} of {counts_by_cut[when]}"
            for when in ("before", "after")
        }
        exactly_one(run, server, each * run.threads)
        as_cut = (
            counts_by_cut["after there"] == counts_by_cut["after"]
            and not counts_by_cut["before there"]
        )
        run.require(
            as_cut, "unknown", f"{counts_by_cut}: after COMMIT all are there, before it none"
        )
        processes.start("worker", dsn=server.dsn)
        run.wait_until_drained(server, seconds=120)
        processes.terminate()
        run.check_result(server)


def produce(
    run: Run, server: Environment, number: int, count: int, counts_by_cut: list[Counter[str]]
) -> None:
    """Create so many, each cut once, through a proxy of this producer's own."""
    call_log = CallLog(run.folder / "calls" / f"producer-{number}.jsonl")
    mine = counts_by_cut[number]
    with proxy(server.server.cluster.socket_folder) as own, Queue(own.dsn) as queue:
        for at in range(count):
            when = ("before", "after")[at % 2]
            own.cut(when, b"message_create")
            was_there = create_with_key(queue, call_log, f"tenant-{number}", f"cut-{number}-{at}")
            mine[when] += 1
            mine[f"{when} there"] += was_there
        run.require(own.cuts == count, "unknown", f"{own.cuts} of {count} were cut")


def create_with_key(queue: Queue, call_log: CallLog, channel: str, label: str) -> bool:
    """Create a message under its key until somebody says that it is there; whether it was there before."""
    while True:
        call = call_log.begin("create", labels=[label], channels=[channel])
        try:
            made = queue.create(channel, label.encode(), key=label, kind="quick")
        except (psycopg.Error, LonnyMQError, OSError) as error:
            call_log.failed(call, "create", error)
            continue
        assert isinstance(made, (Created, Duplicate))
        call_log.end(call, "create", "ok", ids=[made.id])
        return isinstance(made, Duplicate)


def exactly_one(run: Run, server: Environment, total: int) -> None:
    """No key twice, none missing."""
    query = "select count(*), count(distinct key) from lonnymq.message where key is not null"
    with server.connect() as connection:
        row = connection.execute(query).fetchone()
    run.require(row == (total, total), "unknown", f"{row} messages and keys, meant were {total}")

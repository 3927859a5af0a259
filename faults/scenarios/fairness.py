"""Turns: the bounds of the design for 1 and 8 consumers, and 999 quiet tenants beside one with a great backlog."""

from __future__ import annotations

import threading
from collections import Counter

from faults.call_log import CallLog, lease_row
from faults.environment import Environment
from faults.load import create_messages
from faults.run import Run
from lonnymq import Queue

SIZES = {
    "test": {"hot": 2_000, "quiet": 99, "channels": 20, "backlog": 20, "consumers": 4},
    "ci": {"hot": 50_000, "quiet": 999, "channels": 50, "backlog": 40, "consumers": 8},
    "soak": {"hot": 200_000, "quiet": 4_999, "channels": 200, "backlog": 100, "consumers": 8},
}
BATCH = 10


def run_scenario(run: Run) -> None:
    """Both questions, for one consumer and for many."""
    with run.open_environment() as server:
        for consumers in (1, run.consumers):
            even(run, server, consumers)
            quiet(run, server, consumers)
        while True:
            if not take(run, server.queue, run.call_log, 1000, "rest"):
                break
        run.check_result(server)


def even(run: Run, server: Environment, consumers: int) -> None:
    """Channels with a backlog never differ by more than the bound in what they were given."""
    names = [f"even-{consumers}-{number}" for number in range(run.channels)]
    channels = [name for name in names for _ in range(run.backlog)]
    create_messages(server.queue, run.call_log, channels, kind="quick", prefix=f"even-{consumers}")
    calls = run.channels * run.backlog * 3 // 4 // (BATCH * consumers)
    # What is counted is a prefix of all that was given: until everybody has made his calls, all have a backlog.
    taken = together(run, server, consumers, calls)
    counts = Counter(dict.fromkeys(names, 0))
    worst = 0
    bound = 1 if consumers == 1 else 1 + consumers * -(-BATCH // run.channels)
    for channel in taken:
        counts[channel] += 1
        worst = max(worst, counts[channel] - min(counts.values()))
    run.result.figures[f"most apart, {consumers} consumers"] = f"{worst}, bound {bound}"
    run.require(
        worst <= bound, "unfair", f"{worst} apart with {consumers} consumers, bound {bound}"
    )
    while take(run, server.queue, run.call_log, 1000, f"even-{consumers}-rest"):
        pass


def quiet(run: Run, server: Environment, consumers: int) -> None:
    """Every quiet message comes within one round of the turns, however great another's backlog is."""
    hot = [f"hot-{consumers}"] * run.hot
    create_messages(server.queue, run.call_log, hot, kind="quick", prefix=f"hot-{consumers}")
    names = [f"quiet-{consumers}-{number}" for number in range(run.quiet)]
    create_messages(server.queue, run.call_log, names, kind="quick", prefix=f"quiet-{consumers}")
    # One round is one message of each; every consumer walks a round of its own and may be cut short in a batch.
    bound = run.quiet + consumers * (1 + BATCH)
    taken = together(run, server, consumers, -(-bound // (BATCH * consumers)))
    found = sum(channel.startswith("quiet") for channel in taken)
    run.result.figures[
        f"quiet messages in the first {len(taken)} leases, {consumers} consumers"
    ] = found
    run.require(
        found == run.quiet,
        "unfair",
        f"{found} of {run.quiet} quiet messages in {len(taken)} leases",
    )
    while take(run, server.queue, run.call_log, 10_000, f"hot-{consumers}-rest"):
        pass


def together(run: Run, server: Environment, consumers: int, calls: int) -> list[str]:
    """So many dequeues by each of so many consumers at once; the channels in the order in which they were given."""
    taken: list[tuple[int, int, str]] = []

    def consume(number: int) -> None:
        call_log = CallLog(run.folder / "calls" / f"consumer-{consumers}-{number}.jsonl")
        with Queue(server.dsn) as queue:
            for _ in range(calls):
                taken.extend(take(run, queue, call_log, BATCH, f"consumer-{number}"))

    threads = [threading.Thread(target=consume, args=(number,)) for number in range(consumers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if consumers > 1:
        taken.sort(key=lambda each: each[0])
    return [channel for _, _, channel in taken]


def take(
    run: Run, queue: Queue, call_log: CallLog, limit: int, who: str
) -> list[tuple[int, int, str]]:
    """One dequeue, completed at once and written down: when, which message, of which channel."""
    number = call_log.begin("dequeue")
    batch = queue.dequeue(limit=limit, lease_ms=600_000, worker=who)
    rows = [lease_row(each) for each in batch]
    call_log.end(number, "dequeue", "ok", rows=rows)
    if batch:
        tokens = [each.token.hex for each in batch]
        number = call_log.begin(
            "settle", what="message_complete", ids=[each.id for each in batch], tokens=tokens
        )
        answers = [each.answer for each in queue.complete_many(batch)]
        call_log.end(number, "settle", "ok", answers=answers)
    return [(each.dequeued_at, each.id, each.channel) for each in batch]

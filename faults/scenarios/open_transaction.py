"""A producer that leaves its transaction open delays only its own messages: the p99 of the others at most doubles."""

from __future__ import annotations

from faults.environment import Environment
from faults.load import create_messages, pace, percentile
from faults.run import Run, running_processes

SIZES = {
    "test": {"rounds": 1, "seconds": 2.0, "rate": 50},
    "ci": {"rounds": 4, "seconds": 2.5, "rate": 200},
    "soak": {"rounds": 10, "seconds": 5.0, "rate": 200},
}
CHANNELS = ["acme", "bloom"]
GRAIN_MS = 5  # times are whole milliseconds, and one turn of the scheduler is several


def run_scenario(run: Run) -> None:
    """The same load with and without open transactions, in turn, timed by the database."""
    waits: dict[bool, list[float]] = {False: [], True: []}
    with run.open_environment() as server, running_processes(run) as processes:
        processes.start("worker", dsn=server.dsn, concurrency=50)
        create_messages(server.queue, run.call_log, CHANNELS, kind="quick", prefix="warm")
        run.wait_until(lambda: not server.queue.stats().waiting, seconds=60, what="work begins")
        for round_ in range(run.rounds):
            for is_open in (False, True):
                waits[is_open] += loaded(run, server, round_, is_open)
        run.wait_until_drained(server, seconds=60)
        processes.terminate()
        run.check_result(server)
    calm, held = (percentile(waits[each], 0.99) for each in (False, True))
    run.result.figures |= {"p99 ms": calm, "p99 ms beside open transactions": held}
    if run.strict:
        fine = held <= max(2 * calm, calm + GRAIN_MS)
        run.require(fine, "late", f"p99 {held} ms beside open transactions, {calm} ms without")


def loaded(run: Run, server: Environment, round_: int, is_open: bool) -> list[float]:
    """How long each message waited for its lease, in milliseconds."""
    holders = []
    if is_open:
        for number in range(3):
            holder = server.connect(autocommit=False)
            for channel in (*CHANNELS, f"new-{round_}-{number}"):
                server.queue.create(channel, b"never", kind="quick", using=holder)
            holders.append(holder)
        run.count_fault("producer_open", len(holders))
    ids: list[int] = []
    for number in pace(run.rate, run.seconds):
        prefix = f"{'open' if is_open else 'calm'}-{round_}-{number}"
        ids += create_messages(
            server.queue, run.call_log, [CHANNELS[number % 2]], kind="quick", prefix=prefix
        )
    done = "select count(*) from lonnymq.history where message_id = any (%s)"
    run.wait_until(
        lambda: server.values(done, ids)[0] >= len(ids), seconds=60, what="all are handled"
    )
    for holder in holders:
        holder.rollback()
        holder.close()
    waited = (
        "select (dequeued_at - created_at)::float8 from lonnymq.history where message_id = any (%s)"
    )
    return server.values(waited, ids)

"""A snapshot held while messages flow: what is made is handled, and no slower at the end than at the beginning."""

from __future__ import annotations

import time

from faults.environment import Environment
from faults.load import percentile
from faults.run import Run, running_processes

SIZES = {
    "test": {"seconds": 6, "rate": 100, "holders": 1},
    "ci": {"seconds": 60, "rate": 500, "holders": 1},
    "soak": {"seconds": 900, "rate": 800, "holders": 3},
}
WAITED = """
select (dequeued_at - created_at)::float8 from lonnymq.history
where outcome = 'completed' and created_at between %s and %s
"""


def run_scenario(run: Run) -> None:
    """Load under one snapshot, or under several that overlap; a quarter of the time is compared with the last."""
    with run.open_environment() as server, running_processes(run) as processes:
        for _ in range(2):
            processes.start("worker", dsn=server.dsn, concurrency=50)
        for number in range(2):
            processes.start(
                "producer", dsn=server.dsn, seed=run.seed + number, count=10**9, rate=run.rate / 2, kinds={"quick": 1},
                channels=[f"tenant-{each}" for each in range(50)], ways={"one": 3, "many": 1}, batch=10,
            )  # fmt: skip
        run.wait_until(
            lambda: server.queue.stats().leased or has_done(server), seconds=60, what="work begins"
        )
        time.sleep(2 if run.strict else 0.5)
        began = time.time()
        holders = [server.connect(autocommit=False) for _ in range(run.holders)]
        while (passed := time.time() - began) < run.seconds:
            for number, holder in enumerate(holders):
                # Each lets go at its own time and begins anew, so that some snapshot is always old.
                if holder.info.transaction_status == 0 or (
                    number and int(passed) % (60 * (number + 1)) == 0
                ):
                    holder.rollback()
                    holder.execute("set transaction isolation level repeatable read")
                    holder.execute("select count(*) from lonnymq.queue")
                    run.count_fault("snapshot_held")
            time.sleep(1)
            if int(passed) % 10 == 0:
                run.log(f"{passed:.0f} s, {server.queue.stats().waiting} wait")
        now = time.time()
        quarter = (now - began) / 4
        for producer in processes.with_role("producer"):
            producer.terminate()
        run.wait_until_drained(server, seconds=60)
        for holder in holders:
            holder.close()
        processes.terminate()
        run.check_result(server)
        first, last = (
            percentile(server.values(WAITED, int(begin * 1000), int((begin + quarter) * 1000)), 0.5)
            for begin in (began, now - quarter)
        )
        made = "select count(*) from lonnymq.history where created_at between %s and %s"
        count = server.values(made, int(began * 1000), int(now * 1000))[0]
        run.result.figures |= {"median wait ms, first quarter": first, "last quarter": last,
                               "made a second": round(count / (now - began))}  # fmt: skip
        if run.strict:
            fine = last <= max(2 * first, first + 10)
            run.require(
                fine, "late", f"the median wait was {first} ms at first and {last} ms in the end"
            )


def has_done(server: Environment) -> bool:
    """Whether something was handled."""
    return bool(server.values("select exists (select from lonnymq.history)")[0])

"""The whole queue under mixed faults: many tenants, several workers and producers, everything that can go wrong."""

from __future__ import annotations

import threading
import time

from faults.checker import story
from faults.processes import Crew
from faults.injector import Faulter, set_limits
from faults.recovery import slowest
from faults.run import Run, crew_of
from faults.schedule import schedule
from faults.environment import Stand

SIZES = {
    "test": {"messages": 1_500, "tenants": 20, "workers": 3, "producers": 2, "faults": 16, "gap": 0.5},
    "ci": {"messages": 100_000, "tenants": 200, "workers": 8, "producers": 4, "faults": 200, "gap": 0.9},
    "soak": {"messages": 1_000_000, "tenants": 200, "workers": 8, "producers": 4, "faults": 2_000, "gap": 1.2},
}  # fmt: skip
LEASE_MS = 2000
KINDS = {
    "quick": 80,
    "slow": 6,
    "again": 3,
    "later": 3,
    "bill": 3,
    "thread": 2,
    "long": 0.05,
    "dead": 1,
}


def play(run: Run) -> None:
    """Faults while messages are made and handled; then calm, until everything has drained."""
    faults = schedule(run.seed, count=run.faults, gap=run.gap, kinds=run.sizes.get("kinds"))
    run.say(f"seed {run.seed}, {len(faults)} faults:")
    for fault in faults:
        run.say(str(fault))
    with run.stand() as server, crew_of(run) as crew:
        limited = prepare(run, server)
        begin(run, server, crew)
        run.eventually(
            lambda: server.values("select exists (select from lonnymq.history)")[0],
            seconds=120, what="work begins",
        )  # fmt: skip
        faulter = Faulter(server, crew, run.journal, limited=limited, say=run.say)
        thread = threading.Thread(target=faulter.run, args=(faults,))
        thread.start()
        watch(run, server, thread, faulter)
        run.must(faulter.broken is None, "broke off", f"the faults: {faulter.broken!r}")
        for fault in faults[: faulter.done]:
            run.fault(fault.kind)
        run.eventually(
            lambda: not any(each.is_running for each in crew.of("producer")),
            seconds=600, what="the producers end",
        )  # fmt: skip
        run.drain(server, seconds=120 if run.strict else 240)
        crew.end()
        evidence = run.judge(server)
        billed(run, server)
        run.result.figures["leases lost in crashes"] = sum(
            not any(end.at == each.at for end in evidence.attempts[each.id])
            for one in evidence.deliveries.values() for each in one
        )  # fmt: skip
        seconds, waited = slowest(evidence)
        run.recovered(seconds)
        if waited is not None:
            run.say("the slowest recovery:")
            for line in story(evidence, waited):
                run.say(line)


def prepare(run: Run, server: Stand) -> list[str]:
    """Policies: some tenants have limits, which the faults change."""
    server.queue.set(default_max_attempts=50, default_retry_delays_ms=[50, 200])
    limited = [f"tenant-{number}" for number in range(run.tenants // 5, run.tenants // 5 + 6)]
    for number, channel in enumerate(limited):
        if number % 2:
            set_limits(server, run.journal, channel, release_interval_ms=5, burst=2)
        else:
            set_limits(server, run.journal, channel, max_concurrency=3)
    return limited


def begin(run: Run, server: Stand, crew: Crew) -> None:
    """Start everybody: half of them behind the proxy."""
    ways = (server.dsn, server.proxy.dsn)
    for number in range(run.workers):
        crew.add("worker", dsn=ways[number % 2], lease_ms=LEASE_MS, concurrency=25)
    seconds = run.sizes["faults"] * run.gap
    each = run.messages // run.producers
    channels = [f"tenant-{number}" for number in range(run.tenants)]
    for number in range(run.producers):
        crew.add(
            "producer", dsn=ways[number % 2], seed=run.seed * 1000 + number * 10, count=each,
            rate=each / seconds, channels=channels, kinds=KINDS,
        )  # fmt: skip


def watch(run: Run, server: Stand, thread: threading.Thread, faulter: Faulter) -> None:
    """Show how it goes while the faults happen."""
    while thread.is_alive():
        thread.join(timeout=5)
        run.say(f"{faulter.done} of {run.sizes['faults']} faults")
    time.sleep(0.1)


def billed(run: Run, server: Stand) -> None:
    """What a handler wrote with its completion is there once for each completion."""
    query = """
    select b.message, count(*) from bill b group by 1 having count(*) > 1
    union all
    select h.message_id, 0 from lonnymq.history h
    where h.kind = 'bill' and h.outcome = 'completed' and not exists (
      select from bill b where b.message = h.message_id)
    """
    with server.connect() as connection:
        for message, times in connection.execute(query):
            run.problem("bill", f"completed once, billed {times} times", message)

"""The whole queue under mixed faults: many tenants, several workers and producers, everything that can go wrong."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from itertools import pairwise

from faults.checker import tell_story
from faults.environment import Environment
from faults.injector import FaultInjector, set_limits
from faults.observations import Observations
from faults.processes import ProcessGroup
from faults.run import Run, running_processes
from faults.schedule import draw_schedule

SIZES = {
    "test": {"messages": 1_500, "tenants": 20, "workers": 3, "producers": 2, "faults": 16, "gap": 0.5},
    "ci": {"messages": 100_000, "tenants": 200, "workers": 8, "producers": 4, "faults": 200, "gap": 0.9},
    "soak": {"messages": 1_000_000, "tenants": 200, "workers": 8, "producers": 4, "faults": 2_000, "gap": 1.2},
}  # fmt: skip
Recovery = tuple[float, int | None]  # seconds, and the message that waited for it
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


def run_scenario(run: Run) -> None:
    """Faults while messages are made and handled; then calm, until everything has drained."""
    faults = draw_schedule(run.seed, count=run.faults, gap=run.gap, kinds=run.sizes.get("kinds"))
    run.log(f"seed {run.seed}, {len(faults)} faults:")
    for fault in faults:
        run.log(str(fault))
    with run.open_environment() as server, running_processes(run) as processes:
        limited = prepare(run, server)
        begin(run, server, processes)
        run.wait_until(
            lambda: server.values("select exists (select from lonnymq.history)")[0],
            seconds=120, what="work begins",
        )  # fmt: skip
        injector = FaultInjector(server, processes, run.call_log, limited=limited, log=run.log)
        thread = threading.Thread(target=injector.run, args=(faults,))
        thread.start()
        watch(run, server, thread, injector)
        run.require(injector.broken is None, "broke off", f"the faults: {injector.broken!r}")
        for fault in faults[: injector.done]:
            run.count_fault(fault.kind)
        run.wait_until(
            lambda: not any(each.is_running for each in processes.with_role("producer")),
            seconds=600, what="the producers end",
        )  # fmt: skip
        run.wait_until_drained(server, seconds=120 if run.strict else 240)
        processes.terminate()
        observed = run.check_result(server)
        billed(run, server)
        run.result.figures["leases lost in crashes"] = sum(
            not any(end.at == each.at for end in observed.attempts[each.id])
            for one in observed.deliveries.values() for each in one
        )  # fmt: skip
        seconds, waited = find_slowest_recovery(observed)
        run.record_recovery(seconds)
        if waited is not None:
            run.log("the slowest recovery:")
            for line in tell_story(observed, waited):
                run.log(line)


def prepare(run: Run, server: Environment) -> list[str]:
    """Policies: some tenants have limits, which the faults change."""
    server.queue.set(default_max_attempts=50, default_retry_delays_ms=[50, 200])
    limited = [f"tenant-{number}" for number in range(run.tenants // 5, run.tenants // 5 + 6)]
    for number, channel in enumerate(limited):
        if number % 2:
            set_limits(server, run.call_log, channel, min_interval_ms=5, burst=2)
        else:
            set_limits(server, run.call_log, channel, max_concurrency=3)
    return limited


def begin(run: Run, server: Environment, processes: ProcessGroup) -> None:
    """Start everybody: half of them behind the proxy."""
    ways = (server.dsn, server.proxy.dsn)
    for number in range(run.workers):
        processes.start("worker", dsn=ways[number % 2], lease_ms=LEASE_MS, concurrency=25)
    seconds = run.sizes["faults"] * run.gap
    each = run.messages // run.producers
    channels = [f"tenant-{number}" for number in range(run.tenants)]
    for number in range(run.producers):
        processes.start(
            "producer", dsn=ways[number % 2], seed=run.seed * 1000 + number * 10, count=each,
            rate=each / seconds, channels=channels, kinds=KINDS,
        )  # fmt: skip


def watch(run: Run, server: Environment, thread: threading.Thread, injector: FaultInjector) -> None:
    """Show how it goes while the faults happen."""
    while thread.is_alive():
        thread.join(timeout=5)
        run.log(f"{injector.done} of {run.sizes['faults']} faults")
    time.sleep(0.1)


def billed(run: Run, server: Environment) -> None:
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
            run.add_violation("bill", f"completed once, billed {times} times", message)


def find_slowest_recovery(observed: Observations) -> Recovery:
    """The longest of: a killed worker's message leased anew; anything leased after the server came back."""
    found = [(0.0, None), *recoveries_after_kills(observed), *recoveries_after_starts(observed)]
    return max(found, key=lambda each: each[0])


def recoveries_after_kills(observed: Observations) -> Iterator[Recovery]:
    """From each kill to the moment when a message of the killed worker was heard of again."""
    killed = {each["who"]: each["t"] for each in observed.faults if each["fault"] == "killed"}
    for id_, deliveries in observed.deliveries.items():
        for one, next_one in pairwise(sorted(deliveries, key=lambda each: each.at)):
            if one.who in killed and one.heard <= killed[one.who] < next_one.heard:
                yield (next_one.heard - killed[one.who]) / 1000, id_


def recoveries_after_starts(observed: Observations) -> Iterator[Recovery]:
    """From each start of the server to the first lease that was heard of."""
    heard = sorted(each.heard for one in observed.deliveries.values() for each in one)
    for fault in observed.faults:
        if fault["fault"] == "started":
            after = next((each for each in heard if each > fault["t"]), None)
            if after is not None:
                yield (after - fault["t"]) / 1000, None

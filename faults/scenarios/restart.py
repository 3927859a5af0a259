"""The server crashed and started again under load: workers are back within 5 s, and storm nobody meanwhile."""

from __future__ import annotations

import time
from bisect import bisect_right

from faults.call_log import read_records
from faults.checker import was_lost_in_a_crash
from faults.observations import Observations
from faults.run import Run, running_processes

SIZES = {
    "test": {"restarts": 3, "workers": 2, "rate": 100},
    "ci": {"restarts": 20, "workers": 4, "rate": 400},
    "soak": {"restarts": 500, "workers": 4, "rate": 400},
}
BACK_SECONDS = 5.0
# Of one worker in one outage: three parts that write down their calls, each tries after 50 ms, doubling up to 2 s.
MOST_TRIES, MOST_TRIES_A_SECOND = 30, 4


def run_scenario(run: Run) -> None:
    """Restarts while messages are made and handled."""
    with run.open_environment() as server, running_processes(run) as processes:
        server.queue.set(default_max_attempts=1000, default_retry_delays_ms=[50])
        for _ in range(run.workers):
            processes.start("worker", dsn=server.dsn, concurrency=20, lease_ms=5000)
        producer = processes.start(
            "producer", dsn=server.dsn, seed=run.seed, count=10**9, rate=run.rate, kinds={"quick": 5, "slow": 1},
            channels=[f"tenant-{number}" for number in range(20)],
        )  # fmt: skip
        outages: list[tuple[float, float]] = []
        run.wait_until(lambda: server.queue.stats().leased, seconds=60, what="work begins")
        for number in range(run.restarts):
            began = time.time() * 1000
            server.stop("immediate")
            time.sleep(2.0 if number % 5 == 4 else 0.0)
            outages.append((began, server.start()))
            run.count_fault("server_immediate")
            run.wait_until_workers_are_back(outages[-1][1])
            run.log(f"{number + 1} of {run.restarts} restarts")
        producer.terminate()
        run.wait_until_drained(server, seconds=120)
        processes.terminate()
        count_exempt(run, run.check_result(server))
        came_back(run, outages)


def count_exempt(run: Run, observed: Observations) -> None:
    """How many deliveries a crash excuses: those that were not on disk yet."""
    deliveries = [each for one in observed.deliveries.values() for each in one]
    exempt = sum(was_lost_in_a_crash(observed, each) for each in deliveries)
    run.result.figures["leases that a crash excuses"] = f"{exempt} of {len(deliveries)}"


def came_back(run: Run, outages: list[tuple[float, float]]) -> None:
    """For each worker and outage: when the first call went well again, and how many failed before."""
    fine: dict[str, list[float]] = {}
    failed: dict[str, list[float]] = {}
    for who, record in read_records(run.folder / "calls"):
        if who.startswith("worker") and record.get("phase") in ("ok", "unknown"):
            (fine if record["phase"] == "ok" else failed).setdefault(who, []).append(record["t"])
    most = 0
    for who, moments in fine.items():
        moments.sort()
        for down, up in outages:
            after = bisect_right(moments, up)
            if after == len(moments):
                run.add_violation("late", f"{who} did not come back after a restart")
                continue
            run.require_within(BACK_SECONDS, (moments[after] - up) / 1000, f"{who} after a restart")
            tries = sum(down <= each <= moments[after] for each in failed.get(who, ()))
            most = max(most, tries)
            seconds = (moments[after] - down) / 1000
            allowed = MOST_TRIES + MOST_TRIES_A_SECOND * seconds
            run.require(
                tries <= allowed, "hot loop", f"{who} tried {tries} times in {seconds:.1f} s"
            )
    run.result.figures["most failed calls of a worker in an outage"] = most

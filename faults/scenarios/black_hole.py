"""A network that swallows everything: workers replace their connections, and no handler runs beside another.

Half of the workers and one of two producers go over TCP, through a proxy that takes their bytes and passes nothing
on, on open connections and on new ones.
"""

from __future__ import annotations

import time

from faults.load import start_load
from faults.run import Run, running_processes
from faults.tcp_proxy import tcp_proxy

SIZES = {
    "test": {"holes": 1, "seconds": 4.0, "rate": 50},
    "ci": {"holes": 6, "seconds": 6.0, "rate": 200},
    "soak": {"holes": 60, "seconds": 8.0, "rate": 200},
}
LEASE_MS = 3000
BACK_SECONDS = (
    8.0  # a call that nobody answers is given up within a lease, and tried again after a pause
)


def run_scenario(run: Run) -> None:
    """Silence for longer than a lease, again and again, under load."""
    with (
        run.open_environment() as server,
        tcp_proxy(server.dsn) as wire,
        running_processes(run) as processes,
    ):
        server.queue.set(default_max_attempts=1000, default_retry_delays_ms=[50])
        producers = start_load(
            processes, [server.dsn, wire.dsn], seed=run.seed, rate=run.rate, lease_ms=LEASE_MS,
            kinds={"quick": 6, "slow": 3, "long": 0.2},
        )  # fmt: skip
        run.wait_until_work_begins(server)
        run.wait_until_workers_are_back(0)
        for number in range(run.holes):
            run.call_log.write(fault="black_hole", seconds=run.seconds)
            silenced = wire.silence(new=True)
            run.count_fault("connection silenced", silenced)
            time.sleep(run.seconds)
            wire.heal()
            run.call_log.write(fault="healed")
            back = run.wait_until_workers_are_back(time.time() * 1000)
            run.require_within(BACK_SECONDS, back, "the workers after a black hole")
            run.log(f"{number + 1} of {run.holes} black holes, back after {back:.1f} s")
        for producer in producers:
            producer.terminate()
        run.wait_until_drained(server, seconds=120)
        processes.terminate()
        run.check_result(server)

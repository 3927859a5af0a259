"""A server that stands still: SIGSTOP of all its processes for longer than a lease, and SIGCONT."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from faults.environment import Environment
from faults.load import start_load
from faults.run import Run, running_processes

SIZES = {
    "test": {"times": 1, "seconds": 4.0, "rate": 50},
    "ci": {"times": 6, "seconds": 6.0, "rate": 200},
    "soak": {"times": 60, "seconds": 8.0, "rate": 200},
}
LEASE_MS = 3000
BACK_SECONDS = 8.0


def run_scenario(run: Run) -> None:
    """The server stands still and goes on, again and again, under load."""
    with run.open_environment() as server, running_processes(run) as processes:
        server.queue.set(default_max_attempts=1000, default_retry_delays_ms=[50])
        producers = start_load(
            processes, [server.dsn], seed=run.seed, rate=run.rate, lease_ms=LEASE_MS,
            kinds={"quick": 6, "slow": 3, "long": 0.2},
        )  # fmt: skip
        run.wait_until_work_begins(server)
        run.wait_until_workers_are_back(0)
        for number in range(run.times):
            run.call_log.write(fault="server_sigstop", seconds=run.seconds)
            stopped = signal_server(server, signal.SIGSTOP)
            run.count_fault("server_sigstop")
            time.sleep(run.seconds)
            signal_server(server, signal.SIGCONT)
            run.call_log.write(fault="server_sigcont")
            back = run.wait_until_workers_are_back(time.time() * 1000)
            run.require_within(BACK_SECONDS, back, "the workers after a hung server")
            run.log(f"{number + 1} of {run.times}: {stopped} processes, back after {back:.1f} s")
        for producer in producers:
            producer.terminate()
        run.wait_until_drained(server, seconds=120)
        processes.terminate()
        run.check_result(server)


def signal_server(server: Environment, number: int) -> int:
    """Send a signal to the postmaster and then to its children, and return how many got it."""
    postmaster = server.server.cluster.pid
    assert postmaster is not None
    family = [postmaster]
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = (folder / "stat").read_text().rsplit(")", 1)[1].split()[1]
        except OSError:
            continue  # ended meanwhile
        if int(parent) == postmaster:
            family.append(int(folder.name))
    for pid in family:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue
    return len(family)

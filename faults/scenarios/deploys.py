"""Deploys forth and back under load: newer versions install and take over, and the old version comes back.

The newer versions are copies of the library with another version, one more migration each, and functions that changed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from faults.environment import Environment
from faults.later_library import later_library
from faults.load import start_load
from faults.processes import with_library
from faults.run import Run, running_processes

SIZES = {
    "test": {"deploys": 1, "workers": 2, "rate": 50},
    "ci": {"deploys": 3, "workers": 4, "rate": 300},
    "soak": {"deploys": 20, "workers": 4, "rate": 300},
}
INSTALL = "import sys, lonnymq; lonnymq.install(sys.argv[1])"


def run_scenario(run: Run) -> None:
    """Each deploy installs, replaces the workers and the producer one by one, and is rolled back."""
    with run.open_environment() as server, running_processes(run) as processes:
        server.queue.set(default_max_attempts=1000, default_retry_delays_ms=[50])
        start_load(
            processes, [server.dsn], seed=run.seed, rate=run.rate, workers=run.workers,
            kinds={"quick": 6, "slow": 2, "thread": 1, "bill": 1},
        )  # fmt: skip
        run.wait_until_work_begins(server)
        for number in range(1, run.deploys + 1):
            library = later_library(run.folder, number)
            deploy(run, server, library)
            run.count_fault("deploy")
            deploy(run, server, None)
            run.count_fault("rollback")
            run.log(f"{number} of {run.deploys} deploys forth and back")
        processes.with_role("producer")[0].terminate()
        run.wait_until_drained(server, seconds=120)
        processes.terminate()
        observed = run.check_result(server)
        rolled_back = sum(each.rolled_back for each in observed.creates.values())
        rejected = [
            each.label
            for each in observed.creates.values()
            if each.phase in ("rejected", "unknown") and not each.rolled_back
        ]
        run.require(not rejected, "deploy", f"creates that failed: {rejected[:5]}")
        run.result.figures["creates rolled back on purpose"] = rolled_back


def deploy(run: Run, server: Environment, library: Path | None) -> None:
    """Install with a version of the library, and replace every process by one of that version."""
    environment = {**os.environ, "PYTHONPATH": with_library(library)}
    command = [sys.executable, "-c", INSTALL, server.dsn]
    subprocess.run(command, env=environment, check=True, timeout=120)
    for process in [*run.processes.with_role("worker"), *run.processes.with_role("producer")]:
        run.call_log.write(fault="deployed", who=process.name)
        process.library = library
        code = process.terminate()
        run.require(code == 0 or process.role == "producer", "deploy", f"{process.name}: {code}")
        process.given["seed"] = process.given.get("seed", 0) + 1
        process.start()

"""A gigabyte of payloads queued and drained: a worker's memory follows what it handles, not what is queued."""

from __future__ import annotations

import psutil

from faults.load import create_messages
from faults.run import Run, running_processes

SIZES = {
    "test": {"mebibytes": 48, "concurrency": 5},
    "ci": {"mebibytes": 1024, "concurrency": 10},
    "soak": {"mebibytes": 4_096, "concurrency": 10},
}
MEBIBYTE = 1 << 20
BESIDES = 150 * MEBIBYTE  # Python, the library, and what its allocator keeps
COPIES = 4  # of each payload in process: as it was received, as rows, as bytes, and the next batch of them


def run_scenario(run: Run) -> None:
    """A mebibyte a message; the worker is watched while it drains them."""
    bound = BESIDES + COPIES * run.concurrency * MEBIBYTE
    with run.open_environment(on_disk=True) as server, running_processes(run) as processes:
        for at in range(0, run.mebibytes, 8):
            channels = [f"tenant-{number}" for number in range(min(8, run.mebibytes - at))]
            create_messages(
                server.queue,
                run.call_log,
                channels,
                kind="quick",
                prefix=f"big-{at}",
                padding=MEBIBYTE,
            )
            if at % 128 == 0:
                run.log(f"{at} of {run.mebibytes} MiB queued")
        worker = processes.start(
            "worker", dsn=server.dsn, concurrency=run.concurrency, lease_ms=60_000
        )
        most = 0

        def look() -> bool:
            nonlocal most
            most = max(most, psutil.Process(worker.pid).memory_info().rss)
            return server.is_drained()

        run.wait_until(look, seconds=600, what="everything drains")
        processes.terminate()
        run.check_result(server)
        run.result.figures |= {
            "MiB queued": run.mebibytes, "worker's most MiB": most // MEBIBYTE, "bound MiB": bound // MEBIBYTE,
        }  # fmt: skip
        run.require(
            most <= bound,
            "memory",
            f"the worker took {most // MEBIBYTE} MiB, bound {bound // MEBIBYTE}",
        )

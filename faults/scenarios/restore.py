"""A dump restored in the middle of the work: workers stay, and do what the dump says is to be done.

What was completed after the dump is delivered once more. What was created before the dump is not lost.
"""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from faults.environment import Environment
from faults.load import CHANNELS, create_messages, start_load
from faults.run import Run, running_processes

SIZES = {
    "test": {"messages": 300, "rate": 50, "before": 1.0, "after": 1.0},
    "ci": {"messages": 3_000, "rate": 300, "before": 4.0, "after": 4.0},
    "soak": {"messages": 30_000, "rate": 500, "before": 60.0, "after": 30.0},
}


def run_scenario(run: Run) -> None:
    """Load, a dump while workers go on, more completions, the restore, and load again."""
    with run.open_environment() as server, running_processes(run) as processes:
        server.queue.set(default_max_attempts=1000, default_retry_delays_ms=[50])
        producers = start_load(processes, [server.dsn], seed=run.seed, rate=run.rate)
        run.wait_until_work_begins(server)
        time.sleep(run.before)
        for producer in producers:
            producer.terminate()
        channels = (CHANNELS * (run.messages // len(CHANNELS) + 1))[: run.messages]
        create_messages(server.queue, run.call_log, channels, kind="slow", prefix="backlog")
        file = run.folder / "queue.dump"
        client(server, "pg_dump", "--format=custom", f"--file={file}", server.dsn)
        done = "select count(*) from lonnymq.history where outcome = 'completed'"
        [dumped] = server.values(done)
        run.wait_until(
            lambda: server.is_drained() or server.values(done)[0] > dumped + run.messages // 10,
            seconds=60,
            what="messages are completed after the dump",
        )
        began = time.time() * 1000
        run.call_log.write(fault="restore")
        restore(server, file)
        run.count_fault("restore")
        server.queue.install()
        back = run.wait_until_workers_are_back(time.time() * 1000)
        run.record_recovery(back)
        run.result.figures["restored in s"] = round(time.time() - began / 1000 - back, 1)
        again = processes.start(
            "producer", dsn=server.dsn, seed=run.seed + 1, count=10**9, rate=run.rate,
            kinds={"quick": 1}, channels=CHANNELS,
        )  # fmt: skip
        time.sleep(run.after)
        again.terminate()
        run.wait_until_drained(server, seconds=120)
        processes.terminate()
        run.check_result(server, lossy=True)
        lost = run.result.figures["lost, with the old server"]
        run.require(lost == 0, "lost", f"{lost} messages from before the dump are nowhere")


def restore(server: Environment, file: Path) -> None:
    """Put the schema of the dump in the place of the one that is there, while workers ask for it."""
    with server.connect() as connection:
        connection.execute("drop schema lonnymq cascade")
        connection.execute("drop table bill")
    client(
        server, "pg_restore", "--no-owner", "--no-privileges", "--single-transaction",
        f"--dbname={server.dsn}", str(file),
    )  # fmt: skip


def client(server: Environment, program: str, *options: str) -> None:
    """Run a program of the server's version."""
    subprocess.run([str(server.server.cluster.bin_dir / program), *options], check=True)

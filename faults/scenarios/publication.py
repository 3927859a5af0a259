"""All tables published for change data capture, created and read while the queue works, with a crash in the middle."""

from __future__ import annotations

import time

from faults.environment import Environment
from faults.load import start_load
from faults.run import Run, running_processes

SIZES = {
    "test": {"rate": 50, "seconds": 2.0},
    "ci": {"rate": 300, "seconds": 15.0},
    "soak": {"rate": 400, "seconds": 300.0},
}
READ = """
select count(*) from pg_logical_slot_get_binary_changes(
  'cdc', null, null, 'proto_version', '1', 'publication_names', 'everything')
"""


def run_scenario(run: Run) -> None:
    """Publish under load, read what is published, crash, and go on."""
    settings = {"wal_level": "logical"}
    with run.open_environment(**settings) as server, running_processes(run) as processes:
        server.queue.set(default_max_attempts=1000, default_retry_delays_ms=[50])
        producers = start_load(
            processes, [server.dsn], seed=run.seed, rate=run.rate,
            kinds={"quick": 6, "slow": 2, "again": 1, "later": 1, "bill": 1},
        )  # fmt: skip
        run.wait_until_work_begins(server)
        server.values("select pg_create_logical_replication_slot('cdc', 'pgoutput')")
        with server.connect() as connection:
            connection.execute("create publication everything for all tables")
        run.count_fault("all tables published")
        changes = read_for(run, server, run.seconds / 2)
        server.stop("immediate")
        up = server.start()
        run.count_fault("server_immediate")
        run.record_recovery(run.wait_until_workers_are_back(up))
        changes += read_for(run, server, run.seconds / 2)
        for producer in producers:
            producer.terminate()
        run.wait_until_drained(server, seconds=120)
        processes.terminate()
        changes += server.values(READ)[0]
        run.result.figures["changes read"] = changes
        run.check_result(server)


def read_for(run: Run, server: Environment, seconds: float) -> int:
    """Read the changes for some time, and return how many they were."""
    changes, deadline = 0, time.monotonic() + seconds
    while time.monotonic() < deadline:
        changes += server.values(READ)[0]
        time.sleep(0.2)
    return changes

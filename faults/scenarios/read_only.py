"""Sessions that become read-only: for a moment, and for good because another server was promoted.

The old server stays up and answers, but writes nothing any more. Producers and workers have both hosts in their DSN,
and have to leave the sessions that are of no use.
"""

from __future__ import annotations

import time
from urllib.parse import quote

from faults.environment import Environment
from faults.load import start_load
from faults.run import Run, running_processes
from faults.scenarios.failover import promote, replica

SIZES = {
    "test": {"rate": 50, "times": 1, "seconds": 1.0, "after": 1.0},
    "ci": {"rate": 200, "times": 4, "seconds": 3.0, "after": 4.0},
    "soak": {"rate": 300, "times": 40, "seconds": 5.0, "after": 30.0},
}
BACK_SECONDS = 5.0
CAUGHT_UP = "select coalesce(bool_and(replay_lsn >= %s::pg_lsn), false) from pg_stat_replication"


def run_scenario(run: Run) -> None:
    """Read-only and back, several times; then read-only for good."""
    with (
        run.open_environment() as primary,
        replica(primary, False) as (server, _),
        running_processes(run) as processes,
    ):
        primary.queue.set(default_max_attempts=1000, default_retry_delays_ms=[50])
        hosts = [each.cluster.socket_folder for each in (primary.server, server)]
        dsn = f"postgresql://postgres@/postgres?host={quote(','.join(map(str, hosts)))}&port=5432,5432"
        producers = start_load(processes, [dsn], seed=run.seed, rate=run.rate)
        run.wait_until_work_begins(primary)
        run.wait_until_workers_are_back(0)
        for _ in range(run.times):
            set_read_only(primary, is_on=True)
            run.count_fault("read-only for a while")
            time.sleep(run.seconds)
            set_read_only(primary, is_on=False)
            back = run.wait_until_workers_are_back(time.time() * 1000)
            run.require_within(BACK_SECONDS, back, "the workers after a read-only server")
        set_read_only(primary, is_on=True)
        wait_until_caught_up(run, primary)
        promote(server.cluster)
        run.count_fault("read-only failover")
        promoted = time.time() * 1000
        new = Environment(server, primary.proxy, run.call_log)
        done = "select count(*) from lonnymq.history"
        before = new.values(done)[0]
        run.wait_until(lambda: new.values(done)[0] > before, seconds=60, what="work goes on")
        run.require_within(BACK_SECONDS, time.time() - promoted / 1000, "work after a promotion")
        back = run.wait_until_workers_are_back(promoted)
        run.require_within(BACK_SECONDS, back, "the workers after a promotion")
        time.sleep(run.after)
        for producer in producers:
            producer.terminate()
        run.wait_until_drained(new, seconds=120)
        processes.terminate()
        run.check_result(new)


def set_read_only(server: Environment, *, is_on: bool) -> None:
    """Let every transaction that begins from now on be read-only, or not."""
    server.call_log.write(fault="read_only" if is_on else "read_write")
    with server.connect() as connection:
        connection.execute("set default_transaction_read_only = off")
        value = b"on" if is_on else b"off"
        connection.execute(b"alter system set default_transaction_read_only = " + value)
        connection.execute("select pg_reload_conf()")


def wait_until_caught_up(run: Run, primary: Environment) -> None:
    """Wait until the replica has everything that a server that writes nothing any more has written."""
    time.sleep(1.0)  # what had begun to write ends, and the log writer writes it
    [position] = primary.values("select pg_current_wal_flush_lsn()::text")
    run.wait_until(
        lambda: primary.values(CAUGHT_UP, position)[0], seconds=60, what="the replica catches up"
    )

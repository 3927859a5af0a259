"""A streaming replica promoted under load: synchronous, nothing is lost; asynchronous, what is lost is counted.

The replica is cut off for a moment before its primary crashes. What the primary acknowledged meanwhile the replica
never had: with synchronous replication nothing is acknowledged then. Leases, whose commits wait for nobody, are lost
in both; that is one more delivery.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from faults.environment import Environment
from faults.observations import Observations
from faults.proxy import Proxy, proxy
from faults.run import Run, running_processes
from lonnymq.embedded_postgres import TemporaryServer
from lonnymq.embedded_postgres.cluster import Cluster, make_private

SIZES = {
    "test": {"rate": 100, "before": 1.0, "apart": 0.3, "after": 1.0},
    "ci": {"rate": 500, "before": 4.0, "apart": 0.5, "after": 3.0},
    "soak": {"rate": 500, "before": 20.0, "apart": 2.0, "after": 20.0},
}


def run_scenario(run: Run) -> None:
    """Both kinds, one after the other."""
    for is_synchronous in (True, False):
        over(run, is_synchronous)
        for old in (run.folder / "calls").glob("*.jsonl"):
            old.rename(old.with_suffix(f".{is_synchronous}"))
        (run.folder / "calls" / "harness.jsonl").touch()
        run.call_log = type(run.call_log)(run.folder / "calls" / "harness.jsonl")
        run.processes.members.clear()


def over(run: Run, is_synchronous: bool) -> None:
    """Load, a cut, a crash, a promotion, more load, and the check on the new primary."""
    name = "synchronous" if is_synchronous else "asynchronous"
    with (
        run.open_environment() as primary,
        replica(primary, is_synchronous) as (server, wire),
        running_processes(run) as processes,
    ):
        primary.queue.set(default_max_attempts=1000, default_retry_delays_ms=[50])
        for _ in range(3):
            processes.start("worker", dsn=primary.proxy.dsn, concurrency=20, lease_ms=2000)
        producer = processes.start(
            "producer", dsn=primary.proxy.dsn, seed=run.seed, count=10**9, rate=run.rate, kinds={"quick": 6, "slow": 1},
            channels=[f"tenant-{number}" for number in range(20)],
        )  # fmt: skip
        run.wait_until(
            lambda: primary.values("select exists (select from lonnymq.history)")[0],
            seconds=60,
            what="work begins",
        )
        time.sleep(run.before)
        run.call_log.write(fault="apart", crash="begin")
        wire.upstream = Path("/nowhere")
        wire.cut_all()
        time.sleep(run.apart)
        primary.stop("immediate")
        crashed = time.monotonic()
        primary.proxy.upstream = server.cluster.socket_folder
        primary.proxy.cut_all()
        promote(server.cluster)
        run.count_fault(f"failover, {name}")
        new = Environment(server, primary.proxy, run.call_log)
        done = "select count(*) from lonnymq.history"
        before = new.values(done)[0]
        run.wait_until(lambda: new.values(done)[0] > before, seconds=60, what="work goes on")
        run.record_recovery(time.monotonic() - crashed)
        time.sleep(run.after)
        producer.terminate()
        run.wait_until_drained(new, seconds=120)
        processes.terminate()
        observed = run.check_result(new, lossy=not is_synchronous)
        no_token_twice(run, observed)
        if not is_synchronous:
            count = run.result.figures["lost, with the old server"]
            run.log(f"{count} acknowledged messages went with the old server")


def no_token_twice(run: Run, observed: Observations) -> None:
    """Whatever was lost: no lease was completed twice."""
    for id_, answers in observed.answers.items():
        tokens = [each.token for each in answers if each.word == "completed"]
        run.require(
            len(tokens) == len(set(tokens)),
            "completed twice",
            f"one token of {id_} was accepted twice",
        )


def promote(cluster: Cluster) -> None:
    """Make a replica the primary."""
    command = cluster.command(cluster.data, "pg_ctl", "promote", "-w", "-t", "60")
    done = cluster.account.run(command, cwd=cluster.data, stdout=subprocess.DEVNULL)
    if done.returncode:
        raise RuntimeError("the replica could not be promoted")


@contextmanager
def replica(primary: Environment, is_synchronous: bool) -> Iterator[tuple[TemporaryServer, Proxy]]:
    """A streaming replica of a server, and the proxy over which it streams."""
    source = primary.server.cluster
    folder = Path(tempfile.mkdtemp(prefix="lonnymq-replica-", dir=source.folder.parent)).resolve()
    if os.geteuid() == 0:
        folder.chmod(0o711)
    with ExitStack() as stack:
        wire = stack.enter_context(proxy(source.socket_folder))
        if os.geteuid() == 0:
            os.chown(wire.folder, source.account.user, source.account.group)
            os.chmod(next(wire.folder.iterdir()), 0o777)
        cluster = Cluster(folder, source.bin_dir, {"fsync": False, "max_connections": 200})
        make_private(cluster.data, cluster.account)
        command = [
            str(source.bin_dir / "pg_basebackup"), "-D", str(cluster.data), "-R", "-X", "stream", "-c", "fast",
            "-d", f"host={wire.folder} port=5432 user=postgres application_name=replica",
        ]  # fmt: skip
        done = cluster.account.run(command, cwd=cluster.data, stdout=subprocess.DEVNULL)
        if done.returncode:
            raise RuntimeError("pg_basebackup failed")
        server = stack.enter_context(TemporaryServer(cluster))
        while not primary.values(
            "select count(*) from pg_stat_replication where state = 'streaming'"
        )[0]:
            time.sleep(0.05)
        if is_synchronous:
            with primary.connect() as connection:
                connection.execute("alter system set synchronous_standby_names = 'replica'")
                connection.execute("select pg_reload_conf()")
            while not primary.values(
                "select count(*) from pg_stat_replication where sync_state = 'sync'"
            )[0]:
                time.sleep(0.05)
        yield server, wire

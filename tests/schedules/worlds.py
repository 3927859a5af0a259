"""Schedules whose world changes in the middle: a crash, a restore elsewhere, an upgrade, a failover.

After the change the contract begins from what the database really holds, read from its tables, and the schedule goes
on without any sweep: everything that is stored must still be delivered, under its limits and in its order.

    python -m tests.schedules.worlds --world restore --schedules 20 --seed 1
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Any

import psycopg

from lonnymq.embedded_postgres.cluster import Cluster, embedded_binaries, make_private
from lonnymq.embedded_postgres.server import TemporaryServer, memory_folder, temporary
from lonnymq.testing import run as run_once
from lonnymq.testing import with_database

from .scheduler import Failure, Run
from .stage import SETTINGS, Stage, stage_on
from .statements import Lease, Message, Policy
from .steps import Step, draw_schedule
from .visibility import World

DEBIAN_15 = Path("/usr/lib/postgresql/15/bin")
DATABASE = "schedules"
# How far the transaction ids of the new cluster are from those of the old one when the schedule goes on.
OFFSETS = (-100_000, -300, -60, -20, -5, 5, 1_000)
BURN = "do $$ begin for v_number in 1..{count} loop perform pg_current_xact_id(); commit; end loop; end $$"
MESSAGES = """
select convert_from(content, 'UTF8'), id, channel, lonnymq.message_due_at(dequeue_at, priority), key, attempt, state,
  token::text, lease_until, expires_at, max_attempts, coalesce(priority, 0)
from lonnymq.{table}
"""
POLICIES = """
select name, max_concurrency, min_interval_ms, burst, max_size, when_full, weight, max_attempts, paused, retiring
from lonnymq.channel_setting
"""


class Traveller(Run):
    """A run that goes on in another world."""

    def leave(self) -> None:
        """Every transaction of the old world ends, whether it was waiting or not."""
        for connection in self.stage.sessions.values():
            connection.close() if connection not in self.waiting() else connection.cancel()
        for pending in self.pending.values():
            pending.future.exception(timeout=60)
        self.pending.clear()
        self.contract.crash()

    def waiting(self) -> list[psycopg.Connection[Any]]:
        """The connections whose statements wait."""
        return [self.stage.sessions[name] for name in self.pending]

    def arrive(self, stage: Stage) -> None:
        """Begin from what the new world holds."""
        self.stage = stage
        contract, control = self.contract, stage.control
        world = World()
        for *row, token, until, expires_at, attempts, priority in control.execute(
            MESSAGES.format(table="message").encode()
        ).fetchall():
            lease = Lease(token, until) if token else None
            message = Message(*[*row, lease, expires_at, attempts, priority])
            world.messages[message.tag] = message
        dead = MESSAGES.format(table="dead").replace("token::text, lease_until, expires_at", "null")
        for tag, *row, attempts, priority in control.execute(dead.encode()).fetchall():
            world.dead[tag] = Message(*[tag, *row, None, attempts, priority])
        for channel, *row in control.execute(POLICIES).fetchall():
            world.policies[channel] = Policy(*row)
        world.queue_limit = stage.column("select max_concurrency from lonnymq.queue")
        world.defaults = contract.committed.defaults
        contract.committed = world
        for rate in contract.rates.values():
            rate.low = 0
        self.leases = [lease for lease in self.leases if lease.tag in world.messages]
        self.turns.clear()
        self.sleepers.clear()
        self.claims.clear()
        self.claim_tokens.clear()
        self.stream += " of another world"
        self.set_clock(contract.now)
        self.say(f"---- another world: {len(world.messages)} messages, {len(world.dead)} dead")


def journey(
    source: Stage, seed: int, change: Callable[[Traveller, Random], object]
) -> Failure | None:
    """Half of a schedule, a change of world, the other half without sweeps, and the end."""
    steps = draw_schedule(seed, large=False)
    draw = Random(seed)
    half = len(steps) // 2
    later = [step for step in steps[half:] if step.op != "sweep"]
    if draw.random() < 0.7:  # producers are there first
        burst = {"channel": draw.choice("ab"), "count": draw.choice((3, 30, 80, 400)), "delay": 0}
        later.insert(0, Step(500, "s1", "burst", burst))
    run = Traveller(source)
    source.reset()

    def travel() -> None:
        run.go(steps[:half])
        change(run, draw)
        run.go(later)
        run.finish()

    return run.judged([*steps[:half], *later], travel)


# ---- crash


@contextmanager
def crash() -> Iterator[Callable[[int], Failure | None]]:
    """The server stops in the middle of everything, and starts again."""
    with temporary(**SETTINGS) as server, stage_on(server.dsn) as stage:

        def change(run: Traveller, _: Random) -> None:
            server.stop("immediate")
            run.leave()
            server.start()
            stage.connect()
            run.arrive(stage)

        yield lambda seed: journey(stage, seed, change)


# ---- dump and restore


def programs(server: TemporaryServer) -> Path:
    """pg_dump and psql of the newest version, which read and write older servers, too."""
    return embedded_binaries()


def next_id(connection: psycopg.Connection[Any]) -> int:
    """The next transaction id of a cluster."""
    row = connection.execute(
        "select pg_snapshot_xmax(pg_current_snapshot())::text::bigint"
    ).fetchone()
    return int(row[0]) if row else 0


def burn(connection: psycopg.Connection[Any], until: int) -> None:
    """Use transaction ids up, up to a number."""
    count = until - next_id(connection)
    if count > 0:
        connection.execute(BURN.format(count=count).encode(), prepare=False)


def restore(source: TemporaryServer, target: TemporaryServer) -> None:
    """Dump the database of schedules and restore it elsewhere; lines that older servers do not know are left out."""
    place = ["-h", str(source.cluster.socket_folder), "-p", "5432", "-U", "postgres", DATABASE]
    dumped = subprocess.run([programs(source) / "pg_dump", *place], capture_output=True, check=True)
    lines = [
        line
        for line in dumped.stdout.splitlines()
        if not line.startswith(b"SET transaction_timeout")
    ]
    run_once(target.dsn, f"drop database if exists {DATABASE} with (force)")
    run_once(target.dsn, f"create database {DATABASE}")
    place = ["-h", str(target.cluster.socket_folder), "-p", "5432", "-U", "postgres", DATABASE]
    command = [
        str(programs(source) / "psql"),
        "-X",
        "-q",
        "-v",
        "ON_ERROR_STOP=1",
        "-o",
        "/dev/null",
        *place,
    ]
    subprocess.run(command, input=b"\n".join(lines) + b"\n", check=True, stderr=subprocess.PIPE)


@contextmanager
def restored(
    old: Path | None = None,
    new: Path | None = None,
    spoil: Callable[[psycopg.Connection[Any]], None] | None = None,
) -> Iterator[Callable[[int], Failure | None]]:
    """The database goes to another cluster, with lower or higher transaction ids; `spoil` may change the queue."""
    with (
        temporary(old, **SETTINGS) as source,
        temporary(new, **SETTINGS) as target,
        stage_on(source.dsn, spoil) as stage,
        psycopg.connect(target.dsn, autocommit=True) as outside,
    ):

        def change(run: Traveller, draw: Random) -> None:
            run.leave()
            stage.connect()
            restore(source, target)
            offset = draw.choice(OFFSETS)
            burn(outside, next_id(stage.control) + offset)
            run.say(f"---- restored: ids {offset:+d}")
            arrived = Stage(with_database(target.dsn, DATABASE))
            stack.callback(arrived.close)
            run.arrive(arrived)

        def travel(seed: int) -> Failure | None:
            burn(stage.control, next_id(outside) + 5_000)
            return journey(stage, seed, change)

        with ExitStack() as stack:
            yield travel


# ---- pg_upgrade


@contextmanager
def upgraded() -> Iterator[Callable[[int], Failure | None]]:
    """PostgreSQL 15 becomes PostgreSQL 18 by pg_upgrade."""

    def travel(seed: int) -> Failure | None:
        with ExitStack() as stack:
            old = stack.enter_context(temporary(DEBIAN_15, **SETTINGS))

            def change(run: Traveller, _: Random) -> None:
                run.leave()
                run.stage.close()
                new = stack.enter_context(upgrade(old))
                arrived = Stage(with_database(new.dsn, DATABASE))
                stack.callback(arrived.close)
                run.arrive(arrived)

            stage = begin(old)
            stack.callback(stage.close)
            return journey(stage, seed, change)

    yield travel


def begin(server: TemporaryServer) -> Stage:
    """A stage on a server that will not be there in the end."""
    from lonnymq import install

    run_once(server.dsn, f"create database {DATABASE}")
    install(with_database(server.dsn, DATABASE))
    stage = Stage(with_database(server.dsn, DATABASE))
    stage.prepare()
    return stage


def empty_cluster(prefix: str) -> Cluster:
    """A folder for a cluster of PostgreSQL 18, with nothing in it."""
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=memory_folder())).resolve()
    if os.geteuid() == 0:
        folder.chmod(0o711)
    cluster = Cluster(folder, embedded_binaries(), {"fsync": False, **SETTINGS})
    make_private(cluster.data, cluster.account)
    return cluster


def must(cluster: Cluster, command: list[str]) -> None:
    """Run a program as the server's user."""
    done = cluster.account.run(command, cwd=cluster.folder, capture_output=True)
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed: {done.stdout.decode()}{done.stderr.decode()}")


def upgrade(old: TemporaryServer) -> TemporaryServer:
    """Stop a server and carry its data over."""
    old.stop("fast")
    cluster = empty_cluster("lonnymq-upgrade-")
    options = [
        "-U",
        "postgres",
        "--auth=trust",
        "--encoding=UTF8",
        "--no-locale",
        "--no-data-checksums",
    ]
    must(cluster, cluster.command(cluster.data, "initdb", *options))
    scratch = cluster.data / "scratch"
    make_private(scratch, cluster.account)
    command = [str(cluster.bin_dir / "pg_upgrade"), "-U", "postgres", "-s", str(scratch)]
    command += ["-b", str(old.cluster.bin_dir), "-B", str(cluster.bin_dir)]
    command += ["-d", str(old.cluster.data), "-D", str(cluster.data)]
    done = cluster.account.run(command, cwd=scratch, capture_output=True)
    if done.returncode:
        raise RuntimeError(f"pg_upgrade failed: {done.stdout.decode()}{done.stderr.decode()}")
    return TemporaryServer(cluster)


# ---- failover


@contextmanager
def failover() -> Iterator[Callable[[int], Failure | None]]:
    """A standby is promoted that never received the last transactions."""

    def travel(seed: int) -> Failure | None:
        with ExitStack() as stack:
            primary = stack.enter_context(temporary(**SETTINGS))
            stage = begin(primary)
            stack.callback(stage.close)
            standby = stack.enter_context(standby_of(primary))

            def change(run: Traveller, draw: Random) -> None:
                wait_for(stage, standby)
                standby.stop("fast")
                # What comes now is lost with the primary.
                lost = draw_schedule(seed + 1_000_000, large=False)[:10]
                run.go(Step(600 + step.number, step.session, step.op, step.args) for step in lost)
                primary.stop("immediate")
                run.leave()
                standby.start()
                must(
                    standby.cluster,
                    standby.cluster.command(standby.cluster.data, "pg_ctl", "promote", "-w"),
                )
                arrived = Stage(with_database(standby.dsn, DATABASE))
                stack.callback(arrived.close)
                run.arrive(arrived)

            return journey(stage, seed, change)

    yield travel


def standby_of(primary: TemporaryServer) -> TemporaryServer:
    """A streaming standby."""
    source, cluster = primary.cluster, empty_cluster("lonnymq-standby-")
    command = [
        str(source.bin_dir / "pg_basebackup"),
        "-D",
        str(cluster.data),
        "-R",
        "-X",
        "stream",
        "-c",
        "fast",
    ]
    must(cluster, [*command, "-d", f"host={source.socket_folder} port=5432 user=postgres"])
    return TemporaryServer(cluster)


def wait_for(stage: Stage, standby: TemporaryServer) -> None:
    """Wait until a standby has all that is written now."""
    with psycopg.connect(standby.dsn, autocommit=True) as connection:
        [position] = stage.column("select pg_current_wal_flush_lsn()::text")
        query = "select pg_last_wal_replay_lsn() >= %s::pg_lsn"
        while connection.execute(query, (position,)).fetchone() != (True,):
            time.sleep(0.02)


WORLDS: dict[str, Callable[[], Any]] = {
    "crash": crash,
    "restore": restored,
    "restore_into_15": lambda: restored(new=DEBIAN_15),
    "restore_from_15": lambda: restored(old=DEBIAN_15),
    "upgrade": upgraded,
    "failover": failover,
}


def main() -> int:
    """Run schedules through one kind of change, or through all of them."""
    parser = argparse.ArgumentParser(
        prog="worlds", description="Schedules whose world changes in the middle."
    )
    parser.add_argument(
        "--world", choices=[*WORLDS, "all"], default="all", help="kind of change (default all)"
    )
    parser.add_argument(
        "--seed", type=int, default=1, help="seed of the first schedule (default 1)"
    )
    parser.add_argument(
        "--schedules", type=int, default=10, help="schedules for each kind of change (default 10)"
    )
    parser.add_argument(
        "--logs", type=int, default=1, help="failures of each rule to print in full (default 1)"
    )
    options = parser.parse_args()
    broken = False
    for name in WORLDS if options.world == "all" else [options.world]:
        failures: Counter[str] = Counter()
        began = time.monotonic()
        with WORLDS[name]() as travel:
            for seed in range(options.seed, options.seed + options.schedules):
                if failure := travel(seed):
                    failures[failure.rule] += 1
                    is_told = failures[failure.rule] <= options.logs
                    print(
                        f"{name}, seed {seed}:\n{failure if is_told else failure.text}", flush=True
                    )
        took = time.monotonic() - began
        print(
            f"{name}: {options.schedules} schedules in {took:.0f} s, {dict(failures) or 'the contract was kept'}"
        )
        broken |= bool(failures)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())

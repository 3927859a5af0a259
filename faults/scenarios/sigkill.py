"""Workers killed in the middle of a job: their messages are leased anew within lease + sweep + poll + 1 s."""

from __future__ import annotations

import time

from faults.environment import Environment
from faults.load import create_messages
from faults.run import Run, running_processes

SIZES = {
    "test": {"kills": 4, "workers": 3, "messages": 2},
    "ci": {"kills": 50, "workers": 8, "messages": 5},
    "soak": {"kills": 2_000, "workers": 8, "messages": 6},
}
LEASE, SWEEP, POLL = 1.0, 13.0, 5.0  # seconds, as the worker's defaults are, but for the lease
HOLDERS = """
select id, worker from lonnymq.message where token is not null and lease_until > lonnymq.epoch()
"""


def run_scenario(run: Run) -> None:
    """A few messages that are never done; whoever holds one is killed, again and again."""
    gate = run.folder / "gate"
    with run.open_environment() as server, running_processes(run) as processes:
        server.queue.set(default_max_attempts=1_000_000)
        for _ in range(run.workers):
            processes.start(
                "worker", dsn=server.dsn, lease_ms=int(LEASE * 1000), concurrency=2, gate=str(gate)
            )
        channels = [f"tenant-{number}" for number in range(run.messages)]
        create_messages(server.queue, run.call_log, channels, kind="hold", prefix="held")
        killed = 0
        while killed < run.kills:
            victims = holders(run, server)
            if not victims:
                break
            at = time.time()
            for name in dict.fromkeys(victims.values()):
                process = next(each for each in processes.with_role("worker") if each.name == name)
                run.call_log.write(fault="killed", who=name)
                process.kill()
                process.start()
                killed += 1
                run.count_fault("worker_sigkill")
            leased_anew(run, server, victims, at)
            run.log(f"{killed} killed, slowest lease anew {run.result.recovery or 0:.2f} s")
        gate.touch()
        run.wait_until_drained(server, seconds=60)
        processes.terminate()
        run.check_result(server)


def holders(run: Run, server: Environment) -> dict[int, str]:
    """Who holds which message, once all are held."""

    def look() -> dict[int, str] | None:
        with server.connect() as connection:
            rows = connection.execute(HOLDERS).fetchall()
        names = {each.name for each in run.processes.with_role("worker")}
        held = {row[0]: row[1].split(":")[0] for row in rows}
        return held if len(held) == run.messages and names.issuperset(held.values()) else None

    return run.wait_until(look, seconds=60, what="all messages are held") or {}


def leased_anew(run: Run, server: Environment, victims: dict[int, str], at: float) -> None:
    """Wait until others hold what the victims held."""

    def look() -> bool:
        with server.connect() as connection:
            rows = connection.execute(HOLDERS).fetchall()
        now = {row[0]: row[1].split(":")[0] for row in rows}
        return all(now.get(id_, name) != name for id_, name in victims.items())

    bound = LEASE + SWEEP + POLL + 1
    if run.wait_until(look, seconds=bound if run.strict else 120, what="leased anew"):
        run.require_within(bound, time.time() - at, "a lease anew after a kill")

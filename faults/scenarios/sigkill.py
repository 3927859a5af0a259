"""Workers killed in the middle of a job: their messages are leased anew within lease + sweep + poll + 1 s."""

from __future__ import annotations

import time

from faults.load import create
from faults.run import Run, crew_of
from faults.environment import Stand

SIZES = {
    "test": {"kills": 4, "workers": 3, "messages": 2},
    "ci": {"kills": 50, "workers": 8, "messages": 5},
    "soak": {"kills": 2_000, "workers": 8, "messages": 6},
}
LEASE, SWEEP, POLL = 1.0, 13.0, 5.0  # seconds, as the worker's defaults are, but for the lease
HOLDERS = """
select id, worker from lonnymq.message where token is not null and lease_until > lonnymq.epoch()
"""


def play(run: Run) -> None:
    """A few messages that are never done; whoever holds one is killed, again and again."""
    gate = run.folder / "gate"
    with run.stand() as server, crew_of(run) as crew:
        server.queue.set(default_max_attempts=1_000_000)
        for _ in range(run.workers):
            crew.add(
                "worker", dsn=server.dsn, lease_ms=int(LEASE * 1000), concurrency=2, gate=str(gate)
            )
        channels = [f"tenant-{number}" for number in range(run.messages)]
        create(server.queue, run.journal, channels, kind="hold", prefix="held")
        killed = 0
        while killed < run.kills:
            victims = holders(run, server)
            if not victims:
                break
            at = time.time()
            for name in dict.fromkeys(victims.values()):
                hand = next(each for each in crew.of("worker") if each.name == name)
                run.journal.write(fault="killed", who=name)
                hand.kill()
                hand.start()
                killed += 1
                run.fault("worker_sigkill")
            leased_anew(run, server, victims, at)
            run.say(f"{killed} killed, slowest lease anew {run.result.recovery or 0:.2f} s")
        gate.touch()
        run.drain(server, seconds=60)
        crew.end()
        run.judge(server)


def holders(run: Run, server: Stand) -> dict[int, str]:
    """Who holds which message, once all are held."""

    def look() -> dict[int, str] | None:
        with server.connect() as connection:
            rows = connection.execute(HOLDERS).fetchall()
        names = {each.name for each in run.crew.of("worker")}
        held = {row[0]: row[1].split(":")[0] for row in rows}
        return held if len(held) == run.messages and names.issuperset(held.values()) else None

    return run.eventually(look, seconds=60, what="all messages are held") or {}


def leased_anew(run: Run, server: Stand, victims: dict[int, str], at: float) -> None:
    """Wait until others hold what the victims held."""

    def look() -> bool:
        with server.connect() as connection:
            rows = connection.execute(HOLDERS).fetchall()
        now = {row[0]: row[1].split(":")[0] for row in rows}
        return all(now.get(id_, name) != name for id_, name in victims.items())

    bound = LEASE + SWEEP + POLL + 1
    if run.eventually(look, seconds=bound if run.strict else 120, what="leased anew"):
        run.within(bound, time.time() - at, "a lease anew after a kill")

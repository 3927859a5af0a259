"""Messages that raise, hang, kill, cannot be read or say unspeakable things: dead after exactly max_attempts."""

from __future__ import annotations

from faults.load import create
from faults.run import Run, crew_of
from faults.environment import Stand

SIZES = {
    "test": {"each": 1, "others": 50},
    "ci": {"each": 3, "others": 2_000},
    "soak": {"each": 10, "others": 10_000},
}
MAX_ATTEMPTS = 3
LEASES_MS = (60_000, 1_000)  # no lease runs out but those of the killed
KINDS = dict.fromkeys(
    ("raises", "hangs", "kills", "nul", "surrogate", "huge", "nobody"), MAX_ATTEMPTS
)
KINDS |= {"unfit": 1, "dead": 1}  # the next attempt would end the same way


def play(run: Run) -> None:
    """Poison among ordinary messages; what kills its process comes last, for it takes its neighbours' attempts too."""
    with run.stand() as server, crew_of(run) as crew:
        server.queue.set(default_max_attempts=MAX_ATTEMPTS, default_retry_delays_ms=[0])
        server.queue.channel_set("others", max_attempts=1000)
        for wave, kinds in enumerate([[kind for kind in KINDS if kind != "kills"], ["kills"]]):
            for kind in kinds:
                create(
                    server.queue, run.journal, [f"tenant-{kind}"] * run.each, kind=kind, prefix=kind
                )
                run.fault(f"poison: {kind}", run.each)
            for _ in range(2):
                crew.add(
                    "worker", dsn=server.dsn, processes=2, concurrency=5, lease_ms=LEASES_MS[wave]
                )
            others = ["others"] * (run.others // 2)
            create(server.queue, run.journal, others, kind="quick", prefix=f"other-{wave}")
            run.drain(server, seconds=180)
            crew.end()
        run.judge(server)
        dead_as_told(run, server)


def dead_as_told(run: Run, server: Stand) -> None:
    """Each after its attempts, the others done."""
    with server.connect() as connection:
        rows = connection.execute("select kind, attempt, error from lonnymq.dead").fetchall()
    for kind, attempts in KINDS.items():
        found = [row[1] for row in rows if row[0] == kind]
        expected = [attempts] * run.each
        run.must(found == expected, "attempts", f"{kind}: dead after {found}, expected {expected}")
    done = "select count(*) from lonnymq.history where channel = 'others' and outcome = 'completed'"
    count, meant = server.values(done)[0], run.others // 2 * 2
    run.must(count == meant, "others", f"{count} of {meant} others were completed")
    run.result.figures["longest error kept"] = max(len(row[2] or "") for row in rows)

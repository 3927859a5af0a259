"""Messages that raise, hang, kill, cannot be read or say unspeakable things: dead after exactly max_attempts."""

from __future__ import annotations

from faults.environment import Environment
from faults.load import create_messages
from faults.run import Run, running_processes

SIZES = {
    "test": {"each": 1, "others": 50},
    "ci": {"each": 3, "others": 2_000},
    "soak": {"each": 10, "others": 10_000},
}
MAX_ATTEMPTS = 3
LEASES_MS = (60_000, 1_000)  # no lease runs out but those of the killed
KINDS = dict.fromkeys(("raises", "hangs", "kills", "nul", "surrogate", "huge"), MAX_ATTEMPTS)
KINDS |= {"unfit": 1, "dead": 1}  # the next attempt would end the same way


def run_scenario(run: Run) -> None:
    """Poison among ordinary messages; what kills its process comes last, for it takes its neighbours' attempts too."""
    with run.open_environment() as server, running_processes(run) as processes:
        server.queue.set(default_max_attempts=MAX_ATTEMPTS, default_retry_delays_ms=[0])
        server.queue.channel_set("others", max_attempts=1000)
        for wave, kinds in enumerate([[kind for kind in KINDS if kind != "kills"], ["kills"]]):
            for kind in kinds:
                create_messages(
                    server.queue,
                    run.call_log,
                    [f"tenant-{kind}"] * run.each,
                    kind=kind,
                    prefix=kind,
                )
                run.count_fault(f"poison: {kind}", run.each)
            for _ in range(2):
                processes.start(
                    "worker", dsn=server.dsn, processes=2, concurrency=5, lease_ms=LEASES_MS[wave]
                )
            others = ["others"] * (run.others // 2)
            create_messages(
                server.queue, run.call_log, others, kind="quick", prefix=f"other-{wave}"
            )
            run.wait_until_drained(server, seconds=180)
            processes.terminate()
        run.check_result(server)
        dead_as_expected(run, server)


def dead_as_expected(run: Run, server: Environment) -> None:
    """Each after its attempts, the others done."""
    with server.connect() as connection:
        rows = connection.execute("select kind, attempt, error from lonnymq.dead").fetchall()
    for kind, attempts in KINDS.items():
        found = [row[1] for row in rows if row[0] == kind]
        expected = [attempts] * run.each
        run.require(
            found == expected, "attempts", f"{kind}: dead after {found}, expected {expected}"
        )
    done = "select count(*) from lonnymq.history where channel = 'others' and outcome = 'completed'"
    count, meant = server.values(done)[0], run.others // 2 * 2
    run.require(count == meant, "others", f"{count} of {meant} others were completed")
    run.result.figures["longest error kept"] = max(len(row[2] or "") for row in rows)

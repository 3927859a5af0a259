"""Groups whose members are ended by workers that are killed, on a server that crashes: one callback for each group."""

from __future__ import annotations

import time

from faults.environment import Environment
from faults.load import CHANNELS, create_messages
from faults.run import Run, running_processes

SIZES = {
    "test": {"groups": 60, "members": 4, "workers": 3, "kills": 6, "crashes": 1},
    "ci": {"groups": 1_500, "members": 5, "workers": 8, "kills": 80, "crashes": 8},
    "soak": {"groups": 20_000, "members": 6, "workers": 8, "kills": 1_000, "crashes": 60},
}
CALLBACKS = """
select g.id, count(distinct h.message_id)
from lonnymq.message_group g
left join lonnymq.history h on h.headers -> 'group' ->> 'id' = g.id::text
group by g.id
"""
WRONG = """
select g.id from lonnymq.message_group g
where g.ended_at is null or g.completed + g.dead + g.cancelled <> %s
"""


def run_scenario(run: Run) -> None:
    """Small groups, so that their last members end at the same time; a kill comes at no moment in particular."""
    with run.open_environment() as server, running_processes(run) as processes:
        server.queue.set(default_max_attempts=1_000_000)
        create_groups(run, server)
        for _ in range(run.workers):
            processes.start("worker", dsn=server.dsn, lease_ms=1000, concurrency=4)
        run.wait_until_work_begins(server)
        crash_every = run.kills // (run.crashes + 1) + 1
        for number in range(1, run.kills + 1):
            victim = processes.with_role("worker")[number % run.workers]
            run.call_log.write(fault="killed", who=victim.name)
            victim.kill()
            victim.start()
            run.count_fault("worker_sigkill")
            if number % crash_every == 0:
                server.stop("immediate")
                server.start()
                run.count_fault("server_immediate")
            time.sleep(0.03 * (number % 10))
        run.wait_until_drained(server, seconds=180)
        run.wait_until(lambda: not unended(server), seconds=60, what="all groups have ended")
        run.wait_until_drained(server, seconds=60)
        processes.terminate()
        run.check_result(server)
        check_groups(run, server)


def create_groups(run: Run, server: Environment) -> None:
    """Groups with members of several channels. The callback is written down as a create of an unknown end."""
    for number in range(run.groups):
        label = f"callback-{number}"
        run.call_log.begin("create", labels=[label], channels=["callbacks"])
        with server.queue.group("callbacks", label.encode(), kind="quick") as group:
            channels = [CHANNELS[(number + each) % len(CHANNELS)] for each in range(run.members)]
            create_messages(
                server.queue,
                run.call_log,
                channels,
                kind="quick",
                prefix=f"group-{number}",
                group=group,
            )


def unended(server: Environment) -> list[int]:
    """The groups that have not ended."""
    return server.values("select g.id from lonnymq.message_group g where g.ended_at is null")


def check_groups(run: Run, server: Environment) -> None:
    """One callback for each group, with every member counted."""
    with server.connect() as connection:
        rows = connection.execute(CALLBACKS).fetchall()
        wrong = connection.execute(WRONG, (run.members,)).fetchall()
    run.require(len(rows) == run.groups, "groups", f"{len(rows)} groups of {run.groups}")
    for group, callbacks in rows:
        run.require(callbacks == 1, "callbacks", f"group {group} has {callbacks} callbacks")
    for (group,) in wrong:
        run.add_violation("counts", f"group {group} has not ended or counts wrongly")

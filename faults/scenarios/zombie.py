"""Consumers stopped past their leases that complete when they go on: every one of them is rejected."""

from __future__ import annotations

from pathlib import Path

from faults.environment import Environment
from faults.load import create_messages
from faults.observations import collect_observations
from faults.run import Run, running_processes

SIZES = {
    "test": {"zombies": 2, "take": 5},
    "ci": {"zombies": 10, "take": 10},
    "soak": {"zombies": 20, "take": 50},
}
LEASE_MS = 2000  # so long that all have taken theirs before the first runs out


def run_scenario(run: Run) -> None:
    """Half of the messages are done by somebody else before the zombies wake, half are being worked on."""
    total = run.zombies * run.take
    gate, start = run.folder / "gate", run.folder / "start"
    with run.open_environment() as server, running_processes(run) as processes:
        server.queue.set(default_max_attempts=100)
        many = [f"tenant-{number % 7}" for number in range(total // 2)]
        create_messages(server.queue, run.call_log, many, kind="quick", prefix="quick")
        create_messages(
            server.queue,
            run.call_log,
            many[: total - len(many)] or many,
            kind="hold",
            prefix="held",
        )
        for _ in range(run.zombies):
            processes.start(
                "zombie", dsn=server.dsn, take=run.take, lease_ms=LEASE_MS, start=str(start)
            )
        call_logs = [
            run.folder / "calls" / f"{each.name}.jsonl" for each in processes.with_role("zombie")
        ]
        run.wait_until(
            lambda: all(each.exists() and each.stat().st_size for each in call_logs),
            seconds=120, what="the zombies are there",
        )  # fmt: skip
        start.touch()
        run.wait_until(
            lambda: all(is_stopped(each.pid) for each in processes.with_role("zombie")),
            seconds=120, what="the zombies hold their messages",
        )  # fmt: skip
        run.count_fault("worker_sigstop", run.zombies)
        processes.start(
            "worker", dsn=server.dsn, lease_ms=30_000, concurrency=total, gate=str(gate)
        )
        run.wait_until(lambda: taken_over(server, total), seconds=120, what="others take over")
        for process in processes.with_role("zombie"):
            process.resume()
        run.wait_until(
            lambda: not any(each.is_running for each in processes.with_role("zombie")),
            seconds=60, what="the zombies have tried",
        )  # fmt: skip
        gate.touch()
        run.wait_until_drained(server, seconds=60)
        processes.terminate()
        run.check_result(server)
        rejected(run, total)


def is_stopped(pid: int) -> bool:
    """Whether a process stands still."""
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T"


def taken_over(server: Environment, total: int) -> bool:
    """Whether nothing is the zombies' any more."""
    held = server.values("select count(*) from lonnymq.message where worker like 'worker%'")[0]
    done = server.values("select count(*) from lonnymq.history where outcome = 'completed'")[0]
    return bool(held + done == total and done >= total // 2)


def rejected(run: Run, total: int) -> None:
    """Count what the zombies were told."""
    observed = collect_observations(run.folder / "calls", None)
    words = [
        answer.word
        for answers in observed.answers.values()
        for answer in answers
        if answer.who.startswith("zombie")
    ]
    count = sum(word in ("lease_lost", "not_found") for word in words)
    run.result.figures["rejected"] = f"{count} of {total}"
    run.require(
        count == total == len(words),
        "not rejected",
        f"{count} of {len(words)} were rejected, of {total}",
    )

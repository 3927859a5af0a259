"""No deadlock in transactions that do everything over several channels in random order."""

from __future__ import annotations

from collections import Counter

from faults.call_log import read_records
from faults.run import Run, running_processes

SIZES = {
    "test": {"transactions": 1_500, "sessions": 4},
    "ci": {"transactions": 50_000, "sessions": 8},
    "soak": {"transactions": 300_000, "sessions": 12},
}


def run_scenario(run: Run) -> None:
    """Sessions at work; deadlocks are found at once, so that none is hidden by a time limit of ours."""
    with (
        run.open_environment(deadlock_timeout="20ms") as server,
        running_processes(run) as processes,
    ):
        each = run.transactions // run.sessions
        for number in range(run.sessions):
            processes.start(
                "mixer", dsn=server.dsn, seed=run.seed * 100 + number, transactions=each
            )
        run.wait_until(
            lambda: not any(process.is_running for process in processes.members),
            seconds=7200,
            what="the sessions end",
        )
        made: Counter[str] = Counter()
        errors: Counter[str] = Counter()
        for who, record in read_records(run.folder / "calls"):
            if "transactions" in record:
                made[who] = record["transactions"]
        last = {
            who: record["errors"]
            for who, record in read_records(run.folder / "calls")
            if "errors" in record
        }
        for each_errors in last.values():
            errors.update(each_errors)
        for error, times in errors.items():
            run.add_violation("error", f"{times} times {error}")
        deadlocks = server.values(
            "select deadlocks from pg_stat_database where datname = current_database()"
        )[0]
        run.require(not deadlocks, "deadlock", f"{deadlocks} deadlocks")
        total = made.total()
        run.require(total == each * run.sessions, "sessions", f"{total} transactions were made")
        run.result.figures |= {"transactions": total, "deadlocks": deadlocks}
        run.result.messages = server.values("select count(*) from lonnymq.history")[0]
        for row in server.queue.check():
            run.add_violation("queue_check", f"{row}", row.message_id)
        for repair in server.queue.repair():
            run.add_violation("queue_repair", f"{repair}")

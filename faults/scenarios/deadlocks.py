"""No deadlock in transactions that do everything over several channels in random order."""

from __future__ import annotations

from collections import Counter

from faults.call_log import records
from faults.run import Run, crew_of

SIZES = {
    "test": {"transactions": 1_500, "sessions": 4},
    "ci": {"transactions": 50_000, "sessions": 8},
    "soak": {"transactions": 300_000, "sessions": 12},
}


def play(run: Run) -> None:
    """Sessions at work; deadlocks are found at once, so that none is hidden by a time limit of ours."""
    with run.stand(deadlock_timeout="20ms") as server, crew_of(run) as crew:
        each = run.transactions // run.sessions
        for number in range(run.sessions):
            crew.add("mixer", dsn=server.dsn, seed=run.seed * 100 + number, transactions=each)
        run.eventually(
            lambda: not any(hand.is_running for hand in crew.hands),
            seconds=7200,
            what="the sessions end",
        )
        made: Counter[str] = Counter()
        errors: Counter[str] = Counter()
        for who, record in records(run.folder / "journal"):
            if "transactions" in record:
                made[who] = record["transactions"]
        last = {
            who: record["errors"]
            for who, record in records(run.folder / "journal")
            if "errors" in record
        }
        for each_errors in last.values():
            errors.update(each_errors)
        for error, times in errors.items():
            run.problem("error", f"{times} times {error}")
        deadlocks = server.values(
            "select deadlocks from pg_stat_database where datname = current_database()"
        )[0]
        run.must(not deadlocks, "deadlock", f"{deadlocks} deadlocks")
        total = made.total()
        run.must(total == each * run.sessions, "sessions", f"{total} transactions were made")
        run.result.figures |= {"transactions": total, "deadlocks": deadlocks}
        run.result.messages = server.values("select count(*) from lonnymq.history")[0]
        for row in server.queue.check():
            run.problem("queue_check", f"{row}", row.message_id)
        for repair in server.queue.repair():
            run.problem("queue_repair", f"{repair}")

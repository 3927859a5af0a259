"""The forms of the answers, as OpenAPI describes them; and the words that stand in several of them."""

from __future__ import annotations

from typing import Final

from lonnymq.dashboard.json_schema import (
    ANY,
    DIGITS,
    FLAG,
    INTEGER,
    MOMENT,
    NUMBER,
    TEXT,
    Schema,
    many,
    maybe,
    names,
    one_of,
    record,
    ref,
)

STATES: Final = ("ready", "idle", "scheduled", "saturated", "throttled", "paused", "releasing")
POLICY: Final = {
    "max_concurrency": maybe(INTEGER),
    "release_interval_ms": maybe(INTEGER),
    "burst": INTEGER,
    "max_size": maybe(INTEGER),
    "when_full": one_of("refuse", "drop"),
    "weight": INTEGER,
    "max_attempts": INTEGER,
    "retry_delays_ms": many(INTEGER),
    "retry_jitter": NUMBER,
}
IN_ROW = ("max_concurrency", "release_interval_ms", "burst", "weight", "max_size")
ROW = {
    "channel": TEXT,
    "state": one_of(*STATES),
    "held": maybe(TEXT),
    **names(ref("Figure"), "waiting", "scheduled", "dead"),
    "running": INTEGER,
    "out_per_s": maybe(NUMBER),
    "rate_limit_per_s": maybe(NUMBER),
    **names(maybe(MOMENT), "oldest_at", "next_at"),
    **{word: POLICY[word] for word in IN_ROW},
    **names(FLAG, "paused", "releasing"),
}
ENDED: Final = names(INTEGER, "completed", "failed", "deferred", "expired", "died")
MESSAGE = {
    "id": DIGITS,
    "channel": TEXT,
    **names(maybe(TEXT), "kind", "name"),
    "attempt": INTEGER,
    "created_at": MOMENT,
}
LIVE = {**MESSAGE, **names(maybe(TEXT), "worker", "error"), "dequeue_at": MOMENT}


def page(**fields: Schema) -> Schema:
    """A part of a list, and where the next begins."""
    return record(now_at=MOMENT, next=maybe(TEXT), **fields)


FORMS: dict[str, Schema] = {
    "Problem": record(error=record(code=TEXT, message=TEXT, advice=maybe(TEXT))),
    "Figure": record(("at_least",), value=INTEGER, exact=FLAG, at_least=FLAG),
    "Session": record(
        **names(FLAG, "signed_in", "actions", "report"),
        user=maybe(TEXT),
        login=one_of("none", "token", "host"),
        csrf=TEXT,
        version=TEXT,
        queues=many(record(**names(TEXT, "key", "database", "schema", "label"))),
    ),
    "Overview": record(
        now_at=MOMENT,
        **names(ref("Figure"), "waiting", "running", "dead", "channels", "ready_channels"),
        **names(maybe(MOMENT), "oldest_at", "next_at"),
        **names(maybe(NUMBER), "in_per_s", "out_per_s", "failed_per_s"),
        oldest_exact=FLAG,
        last_id=INTEGER,
        rate_ms=INTEGER,
        fairness=record(jain=maybe(NUMBER), channels=INTEGER, attempts=INTEGER),
        workers=record(**names(INTEGER, "alive", "stopping", "gone", "running", "concurrency")),
        max_concurrency=maybe(INTEGER),
        in_flight=INTEGER,
        history=one_of("off", "outcomes", "content"),
        top=many(
            record(
                channel=TEXT,
                state=one_of(*STATES),
                waiting=ref("Figure"),
                running=INTEGER,
                out_per_s=maybe(NUMBER),
            )
        ),
    ),
    "Series": record(
        now_at=MOMENT,
        from_at=MOMENT,
        step_ms=INTEGER,
        sampled=FLAG,
        points=many(
            record(
                at=MOMENT,
                created=INTEGER,
                **ENDED,
                **names(INTEGER, "waiting", "running", "dead", "workers"),
                oldest_ms=maybe(INTEGER),
                whole=FLAG,
            )
        ),
    ),
    "ChannelRow": record(**ROW),
    "Channels": page(
        channels=many(ref("ChannelRow")),
        total=ref("Figure"),
        ranked=one_of("exact", "estimated"),
        complete=FLAG,
        searched=INTEGER,
    ),
    "Channel": record(
        now_at=MOMENT,
        channel=record(
            **ROW, **{k: v for k, v in POLICY.items() if k not in ROW}, size=ref("Figure")
        ),
        defaults=record(**POLICY),
        recent=ref("ChannelSeries"),
    ),
    "ChannelSeries": record(
        now_at=MOMENT,
        step_ms=INTEGER,
        exact=FLAG,
        from_at=MOMENT,
        points=many(record(at=MOMENT, **ENDED, wait_ms=INTEGER, run_ms=INTEGER)),
    ),
    "Messages": page(
        messages=many(
            record(
                **LIVE,
                state=one_of("leased", "waiting", "scheduled"),
                lease_until=maybe(MOMENT),
                size=INTEGER,
                preview=TEXT,
            )
        ),
    ),
    "Content": record(
        size=INTEGER,
        shown=INTEGER,
        cut=FLAG,
        kind=one_of("json", "text", "hex"),
        text=maybe(TEXT),
        hex=TEXT,
    ),
    "Message": record(
        now_at=MOMENT,
        message=record(
            **LIVE,
            state=one_of("waiting", "scheduled", "leased", "dead", "completed", "gone"),
            max_attempts=maybe(INTEGER),
            **names(maybe(MOMENT), "dequeued_at", "lease_until", "died_at"),
            headers=ANY,
            **names(maybe(ref("Content")), "content", "state_content"),
        ),
        explanation=record(answer=TEXT, text=TEXT, fields=ANY),
        attempts=many(
            record(
                attempt=INTEGER,
                outcome=one_of("completed", "failed", "deferred", "expired", "dead"),
                **names(maybe(TEXT), "worker", "error", "summary"),
                **names(MOMENT, "dequeue_at", "dequeued_at", "finished_at"),
                **names(INTEGER, "wait_ms", "run_ms"),
            )
        ),
        attempts_complete=FLAG,
        timeline=many(record(at=MOMENT, what=TEXT, text=TEXT, attempt=maybe(INTEGER), future=FLAG)),
    ),
    "DeadGroups": record(
        now_at=MOMENT,
        total=ref("Figure"),
        looked_at=INTEGER,
        complete=FLAG,
        groups=many(
            record(
                group=TEXT,
                error=TEXT,
                count=INTEGER,
                channels=INTEGER,
                example_channels=many(TEXT),
                kinds=many(TEXT),
                first_at=MOMENT,
                last_at=MOMENT,
                newest_id=DIGITS,
            )
        ),
    ),
    "Dead": page(
        messages=many(
            record(**MESSAGE, died_at=MOMENT, summary=maybe(TEXT), size=INTEGER, preview=TEXT)
        ),
    ),
    "Workers": record(
        now_at=MOMENT,
        workers=many(
            record(
                name=TEXT,
                alive=FLAG,
                stopping=FLAG,
                concurrency=INTEGER,
                running=INTEGER,
                started_at=MOMENT,
                seen_at=MOMENT,
                about=ANY,
            )
        ),
    ),
    "Schedules": record(
        now_at=MOMENT,
        schedules=many(
            record(
                name=TEXT,
                cron=maybe(TEXT),
                every_ms=maybe(INTEGER),
                zone=TEXT,
                channel=TEXT,
                kind=maybe(TEXT),
                missed=one_of("skip", "once", "all"),
                paused=FLAG,
                tick_at=MOMENT,
                next_at=maybe(MOMENT),
                message_id=maybe(DIGITS),
                answer=maybe(TEXT),
                set_at=MOMENT,
            )
        ),
    ),
    "Audit": page(
        entries=many(
            record(
                id=DIGITS,
                at=MOMENT,
                who=TEXT,
                db_user=TEXT,
                action=TEXT,
                subject=maybe(TEXT),
                parameters=ANY,
                answer=ANY,
            )
        ),
    ),
    "Report": record(
        ("title", "made_at", "pictures", "url", "advice"),
        available=FLAG,
        configured=FLAG,
        title=TEXT,
        made_at=MOMENT,
        pictures=many(record(name=TEXT, url=TEXT, title=TEXT)),
        url=TEXT,
        advice=TEXT,
    ),
    "Preview": record(will=TEXT, count=INTEGER, exact=FLAG, at_least=FLAG, warning=maybe(TEXT)),
    "Done": record(did=TEXT, answer=TEXT, count=INTEGER, more=FLAG, audit_id=DIGITS),
    "Ready": record(ready=FLAG, queues={"type": "object", "additionalProperties": FLAG}),
    "Health": record(status=one_of("ok")),
}

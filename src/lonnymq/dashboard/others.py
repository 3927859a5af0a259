"""Workers, schedules, and what was done through the page."""

from __future__ import annotations

from typing import Any

from lonnymq.dashboard.content import document_of
from lonnymq.dashboard.cursors import NEWEST, packed, unpacked
from lonnymq.dashboard.queues import Shown

WORKERS = """
select w.name, w.alive, w.stopping, w.concurrency, w.running, w.started_at, w.seen_at,
  w.about::text as about
from {schema}.worker_list(null, 1000) w
"""
SCHEDULES = """
select s.name, s.cron, s.every_ms, s.zone, s.channel, s.kind, s.missed, s.paused, s.tick_at,
  s.next_at, s.message_id, s.answer, s.set_at
from {schema}.schedule_list(null, 1000) s
"""
AUDIT = """
select a.id, a.at, a.who, a.db_user, a.action, a.subject, a.parameters::text as parameters,
  a.answer::text as answer
from {schema}.audit_list(%(subject)s, %(before)s, %(limit)s) a
"""


async def workers(queue: Shown) -> dict[str, Any]:
    """The workers that said that they are there, those that are alive first."""
    rows, now_at = await queue.rows_and_now(WORKERS)
    for each in rows:
        each["about"] = document_of(each["about"])
    rows.sort(key=lambda each: (not each["alive"], each["name"]))
    return {"now_at": now_at, "workers": rows}


async def schedules(queue: Shown) -> dict[str, Any]:
    """The schedules by name."""
    rows, now_at = await queue.rows_and_now(SCHEDULES)
    for each in rows:
        each["message_id"] = None if each["message_id"] is None else str(each["message_id"])
    return {"now_at": now_at, "schedules": rows}


async def audit(
    queue: Shown, *, subject: str | None, cursor: str | None, limit: int
) -> dict[str, Any]:
    """What was done through the page, newest first."""
    (before,) = unpacked(cursor, (NEWEST,), int)
    asked = {"subject": subject, "before": before, "limit": limit}
    rows, now_at = await queue.rows_and_now(AUDIT, asked)
    following = packed(rows[-1]["id"]) if len(rows) == limit else None
    for each in rows:
        each["id"] = str(each["id"])
        each["parameters"] = document_of(each["parameters"])
        each["answer"] = document_of(each["answer"])
    return {"now_at": now_at, "entries": rows, "next": following}

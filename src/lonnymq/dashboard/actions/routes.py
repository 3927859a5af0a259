"""Acting on a queue through the page: who may, what will happen, and the entry in the audit log."""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from lonnymq.dashboard.bodies import body_of
from lonnymq.dashboard.deeds import (
    Cancel,
    Deed,
    Did,
    Hand,
    Pause,
    Purge,
    Resume,
    SetLimits,
)
from lonnymq.dashboard.deeds_dead import PurgeDead, Redrive
from lonnymq.dashboard.deeds_schedules import PauseSchedule, ResumeSchedule, RunSchedule
from lonnymq.dashboard.problems import not_found
from lonnymq.dashboard.queues import logger
from lonnymq.dashboard.security import refuse_forged
from lonnymq.dashboard.site import queue_of, site_of

AUDIT = """
select {schema}.audit_add(
  %(who)s, %(action)s, %(subject)s, %(parameters)s::jsonb, %(answer)s::jsonb) as id
"""


DEEDS: dict[str, Deed] = {
    "pause": Pause(),
    "resume": Resume(),
    "set_limits": SetLimits(),
    "cancel": Cancel(),
    "purge": Purge(),
    "redrive": Redrive(),
    "purge_dead": PurgeDead(),
    "run_schedule": RunSchedule(),
    "pause_schedule": PauseSchedule(),
    "resume_schedule": ResumeSchedule(),
}


def action_routes() -> list[Route]:
    """Where actions are asked for; they are not there where they are not enabled."""
    return [
        Route("/api/queues/{queue}/actions/{action}/preview", preview, methods=["POST"]),
        Route("/api/queues/{queue}/actions/{action}", act, methods=["POST"]),
    ]


async def preview(request: Request) -> Response:
    """Say what will happen, and to how many, in a transaction of which nothing stays."""
    _, deed, body = await asked(request)
    queue = queue_of(request)
    async with queue.trying() if deed.is_tried else queue.reading() as connection:
        will = await deed.preview(Hand(connection, queue.schema), body)
    return JSONResponse(
        {
            "will": will.will,
            "count": will.count,
            "exact": not will.at_least,
            "at_least": will.at_least,
            "warning": will.warning,
        }
    )


async def act(request: Request) -> Response:
    """Do it and write it down, both or neither."""
    who, deed, body = await asked(request)
    queue, action = queue_of(request), request.path_params["action"]
    async with queue.writing() as connection:
        hand = Hand(connection, queue.schema)
        did = await deed.do(hand, body)
        entry = await hand.rows(AUDIT, audit_of(who, action, did))
    logger.info("%s by %s in queue %s: %s", action, who, queue.key, did.answer)
    return JSONResponse(
        {
            "did": did.did,
            "answer": did.answer,
            "count": did.count,
            "more": did.more,
            "audit_id": str(entry[0]["id"]),
        }
    )


async def asked(request: Request) -> tuple[str, Deed, dict[str, Any]]:
    """Who asks for what: somebody with a name, from the page itself or with the token in a header."""
    visitor = await site_of(request).guard.admit(request)
    refuse_forged(request, visitor)
    queue_of(request)
    deed = DEEDS.get(request.path_params["action"])
    if deed is None:
        raise not_found("There is no such action.", f"There are {', '.join(DEEDS)}.")
    return visitor.name or "somebody", deed, await body_of(request)


def audit_of(who: str, action: str, did: Did) -> dict[str, Any]:
    """The entry of the audit log."""
    return {
        "who": who,
        "action": action,
        "subject": did.subject,
        "parameters": json.dumps(did.parameters),
        "answer": json.dumps({"answer": did.answer, "count": did.count}),
    }

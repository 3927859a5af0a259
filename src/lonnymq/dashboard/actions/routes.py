"""The routes of the actions, which check the user, preview or run an action, and write the audit log."""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from lonnymq.dashboard.actions.base import Action, ActionContext, ActionResult
from lonnymq.dashboard.actions.channels import Pause, Purge, Resume, SetLimits
from lonnymq.dashboard.actions.messages import Cancel, PurgeDead, Redrive
from lonnymq.dashboard.actions.schedules import PauseSchedule, ResumeSchedule, RunSchedule
from lonnymq.dashboard.errors import not_found
from lonnymq.dashboard.queues import logger
from lonnymq.dashboard.request import read_body
from lonnymq.dashboard.security import check_csrf
from lonnymq.dashboard.state import get_queue, get_state

AUDIT = """
select {schema}.audit_add(
  %(who)s, %(action)s, %(subject)s, %(parameters)s::jsonb, %(answer)s::jsonb) as id
"""

ACTIONS: dict[str, Action[Any]] = {
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
    """The routes of all actions."""
    return [
        Route("/api/queues/{queue}/actions/{action}/preview", preview_action, methods=["POST"]),
        Route("/api/queues/{queue}/actions/{action}", run_action, methods=["POST"]),
    ]


async def preview_action(request: Request) -> Response:
    """Say what an action will do, and to how many messages. Nothing changes."""
    _, action, body = await read_request(request)
    queue = get_queue(request)
    transaction = queue.trial_transaction() if action.needs_trial else queue.read_transaction()
    async with transaction as connection:
        preview = await action.preview(ActionContext(connection, queue.schema), body)
    return JSONResponse(
        {
            "message": preview.message,
            "count": preview.count,
            "exact": not preview.at_least,
            "at_least": preview.at_least,
            "warning": preview.warning,
        }
    )


async def run_action(request: Request) -> Response:
    """Run an action and write the audit log, in one transaction."""
    user, action, body = await read_request(request)
    queue, name = get_queue(request), request.path_params["action"]
    async with queue.write_transaction() as connection:
        context = ActionContext(connection, queue.schema)
        result = await action.run(context, body)
        entry = await context.rows(AUDIT, build_audit_entry(user, name, result))
    logger.info("%s by %s in queue %s: %s", name, user, queue.key, result.answer)
    return JSONResponse(
        {
            "message": result.message,
            "answer": result.answer,
            "count": result.count,
            "more": result.more,
            "audit_id": str(entry[0]["id"]),
        }
    )


async def read_request(request: Request) -> tuple[str, Action[Any], Any]:
    """The user, the action and the body of a request, after all checks."""
    user = await get_state(request).authenticator.require_user(request)
    check_csrf(request, user)
    get_queue(request)
    action = ACTIONS.get(request.path_params["action"])
    if action is None:
        raise not_found("This action does not exist.", f"The actions are: {', '.join(ACTIONS)}.")
    return user.name or "unknown", action, await read_body(request, action.body)


def build_audit_entry(user: str, action: str, result: ActionResult) -> dict[str, Any]:
    """The entry of the audit log."""
    return {
        "who": user,
        "action": action,
        "subject": result.subject,
        "parameters": json.dumps(result.parameters),
        "answer": json.dumps({"answer": result.answer, "count": result.count}),
    }

"""The routes of the actions, which check the user, preview or run an action, and write the audit log."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from lonnymq.client import calls
from lonnymq.dashboard.actions import Action, call_on_subject, channels, messages, schedules
from lonnymq.dashboard.errors import not_found
from lonnymq.dashboard.queues import logger
from lonnymq.dashboard.request import read_body
from lonnymq.dashboard.security import check_csrf
from lonnymq.dashboard.state import get_queue, get_state

PAUSE = call_on_subject(calls.channel_pause, "The channel is paused.")
RESUME = call_on_subject(calls.channel_resume, "The channel is resumed.")
PAUSE_SCHEDULE = call_on_subject(calls.schedule_pause, "The schedule is paused.")
RESUME_SCHEDULE = call_on_subject(calls.schedule_resume, "The schedule is resumed.")
CHANNEL, DEAD, SCHEDULE = channels.ChannelBody, messages.DeadFilter, schedules.ScheduleBody
ACTIONS = {
    "pause": Action("Stop a channel.", CHANNEL, channels.preview_pause, PAUSE),
    "resume": Action("Resume a channel.", CHANNEL, channels.preview_resume, RESUME),
    "set_limits": Action("Change the limits of a channel.", channels.LimitsBody, channels.preview_limits,
                         channels.set_limits, needs_trial=True),  # the database checks the values
    "cancel": Action("Delete a message that no worker is running.", messages.MessageBody,
                     messages.preview_cancel, messages.cancel),
    "purge": Action("Delete the waiting messages of a channel.", channels.PurgeBody, channels.preview_purge,
                    channels.purge),
    "redrive": Action("Queue dead messages again.", DEAD, messages.preview_redrive, messages.redrive),
    "purge_dead": Action("Delete dead messages.", DEAD, messages.preview_purge, messages.purge),
    "run_schedule": Action("Create the message of a schedule now.", SCHEDULE, schedules.preview_run,
                           schedules.run_now),
    "pause_schedule": Action("Stop a schedule.", SCHEDULE, schedules.preview_pause, PAUSE_SCHEDULE),
    "resume_schedule": Action("Resume a schedule.", SCHEDULE, schedules.preview_resume, RESUME_SCHEDULE),
}  # fmt: skip


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
    async with transaction as opened:
        preview = await action.preview(opened, body)
    return JSONResponse({**asdict(preview), "exact": not preview.at_least})


async def run_action(request: Request) -> Response:
    """Run an action and write the audit log, in one transaction."""
    user, action, body = await read_request(request)
    queue, name = get_queue(request), request.path_params["action"]
    async with queue.write_transaction() as transaction:
        result = await action.run(transaction, body)
        audit_id = await transaction.call(
            calls.audit_add,
            user,
            action=name,
            subject=result.subject,
            parameters=result.parameters,
            answer={"answer": result.answer, "count": result.count},
        )
    logger.info("%s by %s in queue %s: %s", name, user, queue.key, result.answer)
    return JSONResponse(
        {
            "message": result.message,
            "answer": result.answer,
            "count": result.count,
            "more": result.more,
            "audit_id": str(audit_id),
        }
    )


async def read_request(request: Request) -> tuple[str, Action, Any]:
    """The user, the action and the body of a request, after all checks."""
    user = await get_state(request).authenticator.require_user(request)
    check_csrf(request, user)
    get_queue(request)
    action = ACTIONS.get(request.path_params["action"])
    if action is None:
        raise not_found("This action does not exist.", f"The actions are: {', '.join(ACTIONS)}.")
    return user.name or "unknown", action, await read_body(request, action.body)

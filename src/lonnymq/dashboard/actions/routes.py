"""The routes of the actions, which check the user, preview or run an action, and write the audit log."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import partial

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute

from lonnymq.client import calls
from lonnymq.dashboard.access import Role
from lonnymq.dashboard.actions import (
    Action,
    ActionBody,
    call_on_subject,
    channels,
    messages,
    schedules,
)
from lonnymq.dashboard.guard import get_access, guard_route, require_channel
from lonnymq.dashboard.queues import QueueTransaction, logger
from lonnymq.dashboard.request import read_body
from lonnymq.dashboard.state import get_queue

PAUSE = call_on_subject(calls.channel_pause, "The channel is paused.")
RESUME = call_on_subject(calls.channel_resume, "The channel is resumed.")
PAUSE_SCHEDULE = call_on_subject(calls.schedule_pause, "The schedule is paused.")
RESUME_SCHEDULE = call_on_subject(calls.schedule_resume, "The schedule is resumed.")
CHANNEL, DEAD, SCHEDULE = channels.ChannelBody, messages.DeadFilter, schedules.ScheduleBody
ACTIONS = {
    "pause": Action("Stop a channel.", CHANNEL, channels.preview_pause, PAUSE),
    "resume": Action("Resume a channel.", CHANNEL, channels.preview_resume, RESUME),
    "set_limits": Action("Change the limits of a channel.", channels.LimitsBody, channels.preview_limits,
                         channels.set_limits, needs_trial=True,  # the database checks the values
                         role=Role.ADMINISTER),
    "cancel": Action("Cancel a message, waiting or running.", messages.MessageBody,
                     messages.preview_cancel, messages.cancel),
    "cancel_many": Action("Cancel messages, waiting or running.", messages.MessagesBody,
                          messages.preview_cancel_many, messages.cancel_many),
    "edit_dead": Action("Replace a dead message by a message with another content.", messages.EditBody,
                        messages.preview_edit, messages.edit_dead),
    "purge": Action("Delete the waiting messages of a channel.", channels.PurgeBody, channels.preview_purge,
                    channels.purge, role=Role.ADMINISTER),
    "redrive": Action("Queue dead messages again.", DEAD, messages.preview_redrive, messages.redrive),
    "purge_dead": Action("Delete dead messages.", DEAD, messages.preview_purge, messages.purge,
                         role=Role.ADMINISTER),
    "run_schedule": Action("Create the message of a schedule now.", SCHEDULE, schedules.preview_run,
                           schedules.run_now),
    "pause_schedule": Action("Stop a schedule.", SCHEDULE, schedules.preview_pause, PAUSE_SCHEDULE,
                             role=Role.ADMINISTER),
    "resume_schedule": Action("Resume a schedule.", SCHEDULE, schedules.preview_resume, RESUME_SCHEDULE,
                              role=Role.ADMINISTER),
}  # fmt: skip


def action_routes() -> list[BaseRoute]:
    """The routes of all actions."""
    return [
        guard_route(
            f"/api/queues/{{queue}}/actions/{name}{suffix}",
            partial(handler, name=name),
            role=ACTIONS[name].role,
            methods=["POST"],
        )
        for name in ACTIONS
        for suffix, handler in (("/preview", preview_action), ("", run_action))
    ]


async def preview_action(request: Request, *, name: str) -> Response:
    """Say what an action will do, and to how many messages. Nothing changes."""
    action, queue = ACTIONS[name], get_queue(request)
    body = await read_body(request, action.body)
    transaction = queue.trial_transaction() if action.needs_trial else queue.read_transaction()
    async with transaction as opened:
        preview = await action.preview(await limit_to_access(request, opened, action, body), body)
    return JSONResponse({**asdict(preview), "exact": not preview.at_least})


async def run_action(request: Request, *, name: str) -> Response:
    """Run an action and write the audit log, in one transaction."""
    action, queue = ACTIONS[name], get_queue(request)
    body = await read_body(request, action.body)
    user = request.state.user.audit_name
    async with queue.write_transaction() as opened:
        transaction = await limit_to_access(request, opened, action, body)
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


async def limit_to_access(
    request: Request, transaction: QueueTransaction, action: Action, body: ActionBody
) -> QueueTransaction:
    """The transaction, limited to the channels in which the user has the role of the action."""
    access = get_access(request)
    if not access.allows(action.role):
        for channel in await body.find_channels(transaction):
            require_channel(access, channel, action.role)
    return replace(transaction, access=access, role=action.role)

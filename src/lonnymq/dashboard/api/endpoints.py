"""The endpoints that read a queue: paths, parameters, documents, and the functions that answer."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Literal

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from lonnymq.dashboard.access import Role
from lonnymq.dashboard.actions.routes import ACTIONS
from lonnymq.dashboard.api import channels, messages, queue, schemas, search
from lonnymq.dashboard.api.ranges import SPANS
from lonnymq.dashboard.files import describe_report
from lonnymq.dashboard.guard import get_access, guard_route, require_channel
from lonnymq.dashboard.request import CURSOR, ID, LIMIT, MAX_TIME, Parameter
from lonnymq.dashboard.state import format_event, get_queue, get_state

Scope = Literal["queue", "name", "channel", "rows"]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A GET endpoint of a queue. The parameters become arguments of `read`, and equal requests share an answer.

    `scope` says what a user needs who may see only some channels. `queue`: the user gets no answer. `name` and
    `channel`: the parameter of this name must be an allowed channel. `rows`: `read` leaves out other channels.
    With `rows` and `channel`, `read` gets the rights of the user.
    """

    path: str
    about: str
    document: type[schemas.Document]
    read: Callable[..., Awaitable[dict[str, Any]]]
    parameters: tuple[Parameter, ...] = ()
    scope: Scope = "queue"

    async def respond(self, request: Request) -> Response:
        """Answer a request."""
        state, queue, access = get_state(request), get_queue(request), get_access(request)
        arguments = {each.name: each.read(request) for each in self.parameters}
        key = (queue.key, self.path, *arguments.values())
        if self.scope == "queue":
            require_channel(access, None)
        elif self.scope != "rows":
            require_channel(access, arguments[self.scope])
        if self.scope in ("rows", "channel"):  # users with other rights get other answers
            arguments["access"] = access
            key = (*key, access)
        document = await state.cache.get(key, lambda: self.read(queue, **arguments))
        return JSONResponse(document)

    def route(self) -> Route:
        """The route of the endpoint."""
        return guard_route(f"/api/queues/{{queue}}/{self.path}", self.respond, role=Role.VIEW)


CHANNEL = Parameter("channel", "Only messages of this channel.")
KIND = Parameter("kind", "Only messages of this kind.")
NAME = Parameter("name", "The name of the channel.", required=True)
SPAN = Parameter("span", "How far back.", default="hour", choices=tuple(SPANS))
START = Parameter(
    "start", "The beginning instead of `span`, in epoch milliseconds.", minimum=0, maximum=MAX_TIME
)
END = Parameter(
    "end", "The end, together with `start`. The default is now.", minimum=0, maximum=MAX_TIME
)

TARGET = Parameter(
    "target_s", "For how many seconds a message may wait before its channel needs attention.",
    default=300, minimum=0, maximum=86_400,
)  # fmt: skip

ENDPOINTS = (
    Endpoint("overview", "The present state of the queue.", schemas.Overview, queue.read_overview),
    Endpoint("attention", "What needs attention, the gravest first.", schemas.Attention,
             queue.list_attention, (TARGET,), "rows"),
    Endpoint("kinds", "The kinds of messages: outcomes and durations of the last hour.", schemas.Kinds,
             queue.list_kinds),
    Endpoint("series", "The queue over the last hour or day.", schemas.Series, queue.read_series,
             (SPAN, START, END)),
    Endpoint("channels", "A page of channels, by name or by activity.", schemas.Channels,
             channels.list_channels, (
        Parameter("search", "Only names that contain this text.", default=""),
        Parameter("sort", "The order. All orders except `name` rank the leading channels by estimates.",
                  default="name", choices=channels.SORTS),
        Parameter("state", "Only channels in this state.", choices=schemas.STATES),
        CURSOR, LIMIT,
    ), "rows"),
    Endpoint("channel", "One channel.", schemas.Channel, channels.read_channel, (NAME,), "name"),
    Endpoint("channel/series", "The attempts of a channel over the last hour or day.",
             schemas.ChannelSeries, channels.read_series, (NAME, SPAN, START, END), "name"),
    Endpoint("messages", "A page of the live messages of a channel, in order.", schemas.Messages,
             messages.list_messages, (
        Parameter("channel", "The name of the channel.", required=True), CURSOR, LIMIT,
    ), "channel"),
    Endpoint("find", "Messages of all channels or one channel, by state, kind, key, worker and a field of JSON "
             "contents. A request reads at most 10,000 messages.", schemas.FoundMessages, search.find_messages, (
        Parameter("state", "Only messages in this state.", default="live", choices=search.STATES),
        CHANNEL, KIND,
        Parameter("key", "Only messages with this key."),
        Parameter("worker", "Only messages that this worker runs or ran."),
        Parameter("field", "Only JSON contents with this field. Dots separate the names of nested fields."),
        Parameter("value", "The value of the field, as text or as JSON."),
        CURSOR, LIMIT,
    ), "rows"),
    Endpoint("messages/{id}", "One message.", schemas.Message, messages.read_message, (ID,), "rows"),
    Endpoint("dead/groups", "Dead messages grouped by error.", schemas.DeadGroups,
             messages.group_dead, (CHANNEL, KIND), "rows"),
    Endpoint("dead", "A page of dead messages, newest first.", schemas.DeadMessages, messages.list_dead, (
        Parameter("group", "Only messages of this group of errors."), CHANNEL, KIND, CURSOR, LIMIT,
    ), "rows"),
    Endpoint("workers", "The workers.", schemas.Workers, queue.list_workers),
    Endpoint("schedules", "The schedules.", schemas.Schedules, queue.list_schedules),
    Endpoint("audit", "The audit log of the dashboard, newest first.", schemas.AuditLog,
             queue.list_audit_entries, (
        Parameter("subject", "Only actions on this channel, message or schedule."),
        Parameter("user", "Only actions of users whose name contains this text."),
        Parameter("action", "Only this action.", choices=tuple(ACTIONS)), CURSOR, LIMIT,
    )),
)  # fmt: skip


async def send_message_content(request: Request) -> Response:
    """Send the whole payload of a message as a download, so that browsers do not interpret the payload."""
    queue, message_id = get_queue(request), ID.read(request)
    data = await messages.read_content(queue, message_id, get_access(request))
    disposition = f'attachment; filename="message-{message_id}.bin"'
    return Response(
        data, media_type="application/octet-stream", headers={"Content-Disposition": disposition}
    )


async def send_events(request: Request) -> Response:
    """Send live events of a queue. Users who may see only some channels get the time instead of the overview."""
    state = get_state(request)
    stream = state.get_stream(get_queue(request), queue.read_overview)
    events = while_signed_in(request, stream.events())
    if not get_access(request).allows(Role.VIEW):
        events = without_overview(events)
    return StreamingResponse(
        events, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"}
    )


async def while_signed_in(request: Request, events: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    """Events until the session of the request ends."""
    authenticator = get_state(request).authenticator
    async with aclosing(events):
        async for event in events:
            has_session = authenticator.login in ("token", "oidc")
            if has_session and await authenticator.find_user(request) is None:
                return
            yield event


async def without_overview(events: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    """The same events with nothing of the overview but its time."""
    async with aclosing(events):
        async for event in events:
            name, _, data = event.partition(b"\ndata: ")
            if name == b"event: overview":
                yield format_event("time", {"now_at": json.loads(data)["now_at"]})
            else:
                yield event


async def send_report_details(request: Request) -> Response:
    """Send the title, time and pictures of the latest report."""
    return JSONResponse(describe_report(get_state(request).report))

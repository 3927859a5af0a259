"""All that can be asked of the page's API: paths, parameters, forms, and who answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from lonnymq.dashboard import channels, dead, messages, others, overview, past
from lonnymq.dashboard.parameters import CURSOR, ID, LIMIT, QUEUE, Parameter
from lonnymq.dashboard.queues import Shown
from lonnymq.dashboard.report import report_of
from lonnymq.dashboard.schemas import STATES
from lonnymq.dashboard.site import queue_of, site_of

Answer = Callable[..., Awaitable[dict[str, Any]]]
Endpoint = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Look:
    """One question about a queue: the query is read into `answer`'s arguments, and equal questions share an answer."""

    path: str
    about: str
    form: str
    answer: Answer
    parameters: tuple[Parameter, ...] = ()

    @property
    def all_parameters(self) -> tuple[Parameter, ...]:
        """Its parameters, that of the path included."""
        return (QUEUE, *self.parameters)

    async def respond(self, request: Request) -> Response:
        """Answer a request."""
        site = site_of(request)
        await site.guard.admit(request)
        queue = queue_of(request)
        asked = {each.name: each.read(request) for each in self.parameters}
        document = await site.kept.get(
            (queue.key, self.path, *asked.values()), lambda: self.answer(queue, **asked)
        )
        return JSONResponse(document)

    def route(self) -> Route:
        """Where it is asked."""
        return Route(f"/api/queues/{{queue}}/{self.path}", self.respond, methods=["GET"])


CHANNEL = Parameter("channel", "Of this channel only.")
KIND = Parameter("kind", "Of this kind only.")

LOOKS = (
    Look("overview", "The queue at a glance.", "Overview", overview.overview),
    Look("series", "How the queue stood over the last hour or day.", "Series", overview.series, (
        Parameter("span", "How far back.", default="hour", words=("hour", "day")),
    )),
    Look("channels", "A page of channels, by name or by what goes on in them.", "Channels",
         channels.channels, (
        Parameter("search", "Names that contain this.", default=""),
        Parameter("sort", "By what; all but `name` rank the leading ones, by estimates.",
                  default="name", words=channels.SORTS),
        Parameter("state", "Channels in this state only.", words=STATES),
        CURSOR, LIMIT,
    )),
    Look("channel", "One channel.", "Channel", channels.channel, (
        Parameter("name", "The channel's name.", required=True),
    )),
    Look("channel/series", "What became of a channel's attempts over the last hour or day.",
         "ChannelSeries", past.series, (
        Parameter("name", "The channel's name.", required=True),
        Parameter("span", "How far back.", default="hour", words=("hour", "day")),
    )),
    Look("messages", "A page of a channel's live messages, in their order.", "Messages",
         messages.messages, (
        Parameter("channel", "The channel's name.", required=True), CURSOR, LIMIT,
    )),
    Look("dead/groups", "Dead messages by what their errors have in common.", "DeadGroups",
         dead.groups, (CHANNEL, KIND)),
    Look("dead", "A page of dead messages, newest first.", "Dead", dead.dead, (
        Parameter("group", "Of this group of errors only."), CHANNEL, KIND, CURSOR, LIMIT,
    )),
    Look("workers", "The workers that said that they are there.", "Workers", others.workers),
    Look("schedules", "The schedules.", "Schedules", others.schedules),
    Look("audit", "What was done through the page, newest first.", "Audit", others.audit, (
        Parameter("subject", "Done to this channel, message or schedule only."), CURSOR, LIMIT,
    )),
)  # fmt: skip


async def message_look(request: Request) -> Response:
    """One message."""
    site = site_of(request)
    await site.guard.admit(request)
    queue, number = queue_of(request), ID.read(request)
    document = await site.kept.get(
        (queue.key, "message", number), lambda: messages.message(queue, number)
    )
    return JSONResponse(document)


async def message_content(request: Request) -> Response:
    """A message's whole payload, to be saved: no browser is to make anything of it."""
    await site_of(request).guard.admit(request)
    queue, number = queue_of(request), ID.read(request)
    data = await messages.whole_content(queue, number)
    name = f'attachment; filename="message-{number}.bin"'
    return Response(
        data, media_type="application/octet-stream", headers={"Content-Disposition": name}
    )


async def events(request: Request) -> Response:
    """What goes on, as it goes."""
    site = site_of(request)
    await site.guard.admit(request)
    live = site.live_of(queue_of(request), overview_of)
    return StreamingResponse(
        live.events(), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"}
    )


async def overview_of(queue: Shown) -> dict[str, Any]:
    """What is told to open pages."""
    return await overview.overview(queue)


async def report_look(request: Request) -> Response:
    """What the latest report has to show."""
    site = site_of(request)
    await site.guard.admit(request)
    return JSONResponse(report_of(site.report))

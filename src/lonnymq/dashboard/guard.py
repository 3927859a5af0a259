"""The one place that decides who may use a route: every route is made by `guard_route`, with a role."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lonnymq.dashboard.access import Access, Role
from lonnymq.dashboard.errors import ApiError, not_found
from lonnymq.dashboard.security import User, check_csrf
from lonnymq.dashboard.state import get_queue, get_state

Handler = Callable[[Request], Awaitable[Response]]
ADVICE = "Ask somebody who administers the dashboard: the access file has the roles."


class GuardedRoute(Route):
    """A route that only users with a role reach. Without a role the route is public."""

    role: Role | None


def guard_route(
    path: str, handler: Handler, *, role: Role | None, methods: Sequence[str] = ("GET",)
) -> GuardedRoute:
    """A route that checks the user, the CSRF token, and the role of the user in the queue of the path."""

    async def respond(request: Request) -> Response:
        if role is not None:
            user = await get_state(request).authenticator.require_user(request)
            if request.method == "POST":
                check_csrf(request, user)
            request.state.user = user
            check_role(request, user, role)
        return await handler(request)

    route = GuardedRoute(path, respond, methods=list(methods))
    route.role = role
    return route


def check_role(request: Request, user: User, role: Role) -> None:
    """Reject a user without the role in the queue of the path, or, without a queue, in all queues."""
    state = get_state(request)
    if "queue" not in request.path_params:
        if not all(state.find_access(user, key).allows(role) for key in state.queues):
            raise forbidden("This shows all queues and channels. You may see only some.")
        return
    queue = get_queue(request)
    access = state.find_access(user, queue.key)
    if access.role is None:
        raise not_found("This queue does not exist.", "The keys of all queues are in api/session.")
    if access.role < role:
        raise forbidden(f"You need the role '{role.name.lower()}' in this queue.")
    request.state.access = access


def get_access(request: Request) -> Access:
    """What the user of a request may do in the queue of the path."""
    access: Access = request.state.access
    return access


def require_channel(access: Access, channel: str | None, role: Role = Role.VIEW) -> None:
    """Reject a user who may not do this in the channel, or, without a channel, in the whole queue."""
    if access.allows(role, channel):
        return
    if channel is None:
        raise forbidden("You may see only some channels of this queue.")
    raise forbidden(f"You do not have the role '{role.name.lower()}' in this channel.")


def forbidden(message: str) -> ApiError:
    """The error for somebody who is known and may not do this."""
    return ApiError("forbidden", message, advice=ADVICE)

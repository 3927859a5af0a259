"""What the routes of one app share: its queues, its guard, what is allowed, what was read a moment ago."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.requests import Request

from lonnymq.dashboard.kept import Kept
from lonnymq.dashboard.live import Live
from lonnymq.dashboard.problems import not_found
from lonnymq.dashboard.queues import Shown
from lonnymq.dashboard.security import Guard


@dataclass(slots=True)
class Site:
    """One app."""

    queues: Mapping[str, Shown]
    guard: Guard
    actions: bool = False
    report: Path | None = None
    kept: Kept = field(default_factory=Kept)
    live: dict[str, Live] = field(default_factory=dict)

    def live_of(self, queue: Shown, look: Callable[[Shown], Awaitable[Any]]) -> Live:
        """Who tells open pages of a queue; it looks as they do, through what is kept."""
        if queue.key not in self.live:
            self.live[queue.key] = Live(
                lambda: self.kept.get((queue.key, "overview"), lambda: look(queue))
            )
        return self.live[queue.key]


def site_of(request: Request) -> Site:
    """The app that a request came to."""
    site: Site = request.app.state.site
    return site


def queue_of(request: Request) -> Shown:
    """The queue that a request is about."""
    key = request.path_params["queue"]
    try:
        return site_of(request).queues[key]
    except KeyError:
        raise not_found("There is no such queue.", "See which there are: api/session") from None

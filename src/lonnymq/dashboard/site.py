"""What the routes of one app share: its queues, its guard, what is allowed, what was read a moment ago."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.requests import Request

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
    kept: dict[str, Any] = field(default_factory=dict)


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

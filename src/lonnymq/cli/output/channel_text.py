"""A channel's limits, and why it is not served at the moment, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lonnymq.cli.output.formatting import number
from lonnymq.text import format_duration

if TYPE_CHECKING:
    from lonnymq.results import ChannelActivity, ChannelStats

    Figures = ChannelStats | ChannelActivity


def limits(channel: Figures) -> str:
    """The limits of a channel in a few words, '' if it has none."""
    return ", ".join(
        [
            *([f"{number(channel.max_concurrency)} at once"] if channel.max_concurrency else []),
            *([rate(channel)] if channel.min_interval_ms else []),
            *([f"{number(channel.max_size)} live"] if channel.max_size else []),
            *([f"weight {channel.weight}"] if channel.weight != 1 else []),
        ]
    )


def rate(channel: Figures) -> str:
    """The rate limit: one each interval, and the burst if there is one."""
    burst = f", {channel.burst} in a burst" if (channel.burst or 1) > 1 else ""
    return f"1 each {format_duration(channel.min_interval_ms)}{burst}"


def why(channel: Figures, now: int) -> str:
    """Why a channel is not served at this moment; '' if it is, or has nothing."""
    leaving = " (being released)" if channel.retiring else ""
    match channel.state:
        case "saturated":
            reason = f"{channel.in_flight} of {channel.max_concurrency} are running"
        case "throttled":
            wait = max(0, (channel.next_at or now) - now)
            reason = f"next in {format_duration(wait)}, {rate(channel)}"
        case "paused":
            reason = "paused by hand"
        case "scheduled":
            due = channel.next_at
            reason = (
                f"first is due in {format_duration(max(0, due - now))}" if due is not None else ""
            )
        case "retiring":
            return "being released"
        case _:
            reason = ""
    return (reason + leaving).strip()


def policy(channel: ChannelStats) -> dict[str, object]:
    """All options of a channel by name, for people."""
    delays = ", ".join(format_duration(each) for each in channel.retry_delays_ms or [])
    return {
        "max concurrency": number(channel.max_concurrency),
        "release interval": format_duration(channel.min_interval_ms),
        "burst": channel.burst,
        "max size": number(channel.max_size),
        "when full": channel.when_full,
        "weight": channel.weight,
        "max attempts": channel.max_attempts,
        "retry delays": f"{delays}, plus up to {channel.retry_jitter or 0:.0%}",
        "paused": channel.paused,
        "retiring": channel.retiring,
    }

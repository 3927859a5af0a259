"""`lonnymq channel`: the channels of tenants, their limits and their counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lonnymq.cli.errors import unknown_name_error
from lonnymq.cli.options import ChannelName, Limit, Yes, parse_duration
from lonnymq.cli.output.console import make_list, make_table, print_next_page
from lonnymq.cli.output.formatting import (
    describe_policy,
    format_at_least,
    format_limits,
    format_number,
    format_reason,
)
from lonnymq.cli.session import Session, command, create_group
from lonnymq.text import NOTHING, format_duration

if TYPE_CHECKING:
    from lonnymq.results import ChannelStats

NONE = ("none", "null", "")


def parse_integer(text: str) -> int:
    """A whole number; the queue checks the range."""
    try:
        return int(text.replace(",", "").replace("_", ""))
    except ValueError:
        raise ValueError(f"'{text}' is not a whole number or 'none'") from None


def parse_share(text: str) -> float:
    """A number between 0 and 1; the queue checks the range."""
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"'{text}' is not a number or 'none'") from None


def parse_delays(text: str) -> list[int]:
    """Durations separated by commas."""
    return [parse_duration(each) for each in text.split(",")]


PARSERS: dict[str, Callable[[str], Any]] = {
    "max_concurrency": parse_integer,
    "min_interval_ms": parse_duration,
    "burst": parse_integer,
    "max_size": parse_integer,
    "when_full": str,
    "weight": parse_integer,
    "max_attempts": parse_integer,
    "retry_delays_ms": parse_delays,
    "retry_jitter": parse_share,
}


def limit_option(key: str, metavar: str, text: str) -> Any:
    """An option of `channel set`, checked as it is read. 'none' removes the limit."""

    def check(value: str | None) -> str | None:
        if value is None:
            return None
        if value.strip().lower() in NONE:
            return "none"
        try:
            PARSERS[key](value)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None
        return value

    name = f"--{key.removesuffix('_ms').replace('_', '-')}"
    return typer.Option(name, metavar=metavar, help=text, callback=check)


MaxConcurrency = Annotated[
    str | None,
    limit_option("max_concurrency", "N", "Maximum number of messages that run at the same time."),
]
MinInterval = Annotated[
    str | None,
    limit_option("min_interval_ms", "TIME", "Minimum time between two messages: 100ms, 2s."),
]
Burst = Annotated[
    str | None,
    limit_option("burst", "N", "Number of messages that may start at once after a quiet time."),
]
MaxSize = Annotated[str | None, limit_option("max_size", "N", "Maximum number of live messages.")]
WhenFull = Annotated[
    str | None,
    limit_option("when_full", "reject|drop", "Effect on new messages when the channel is full."),
]
Weight = Annotated[
    str | None, limit_option("weight", "N", "Number of messages per turn, 1 to 1000.")
]
MaxAttempts = Annotated[
    str | None,
    limit_option("max_attempts", "N", "Maximum number of attempts before a message is dead."),
]
RetryDelays = Annotated[
    str | None,
    limit_option("retry_delays_ms", "TIMES", "Delay after each failed attempt: 1s,5s,1m."),
]
RetryJitter = Annotated[
    str | None,
    limit_option("retry_jitter", "SHARE", "Maximum random extra delay, as a share from 0 to 1."),
]

app = create_group("List, set, pause and retire channels.")


@command(app, "list")
def list_channels(
    session: Session,
    after: Annotated[str | None, typer.Option(help="Start after this name.")] = None,
    limit: Limit = 50,
) -> None:
    """List channels by name, a page at a time."""
    found = session.queue.channel_stats(after=after, limit=limit)
    next_after = found[-1].channel if len(found) == limit else None
    now = session.queue.epoch()
    document = {"channels": found, "next_after": next_after, "now_at": now}
    session.out.print_result(document, lambda: render_channels(found, now))
    print_next_page(session.out, "channel list", next_after)


def render_channels(found: list[ChannelStats], now: int) -> Any:
    """A table of channels."""
    if not found:
        return "No channels yet. The first message creates a channel."
    rows = (
        [
            each.channel, each.state, format_number(each.waiting, exact=each.counted_exactly),
            each.scheduled, each.in_flight, each.dead, format_oldest(each, now),
            format_limits(each),
        ]
        for each in found
    )  # fmt: skip
    columns = ("channel", "state", ">waiting", ">later", ">running", ">dead", ">oldest", "limits")
    return make_table(*columns, rows=rows)


def format_oldest(channel: ChannelStats, now: int) -> str:
    """How long the oldest message has waited."""
    return NOTHING if channel.oldest_at is None else format_duration(now - channel.oldest_at)


@command(app, "show")
def show_channel(session: Session, channel: ChannelName) -> None:
    """Show the state, the counts and the limits of a channel."""
    stats = fetch_channel(session, channel)
    now = session.queue.epoch()
    reason = format_reason(stats, now)
    fields = {
        "channel": stats.channel,
        "state": f"{stats.state}: {reason}" if reason else stats.state,
        "waiting": format_number(stats.waiting, exact=stats.counted_exactly),
        "scheduled for later": stats.scheduled,
        "running": stats.in_flight,
        "dead": stats.dead,
        "oldest waits for": format_oldest(stats, now),
        **describe_policy(stats),
    }
    document = {"channel": stats, "reason": reason, "now_at": now}
    session.out.print_result(document, lambda: make_list(fields))


def fetch_channel(session: Session, channel: str) -> ChannelStats:
    """The statistics of a channel, or the error that there is no such channel."""
    stats = session.queue.channel(channel).stats()
    if stats is None:
        raise unknown_name_error("channel", channel)
    return stats


@command(app, "set")
def set_channel(
    session: Session,
    channel: ChannelName,
    max_concurrency: MaxConcurrency = None,
    min_interval_ms: MinInterval = None,
    burst: Burst = None,
    max_size: MaxSize = None,
    when_full: WhenFull = None,
    weight: Weight = None,
    max_attempts: MaxAttempts = None,
    retry_delays_ms: RetryDelays = None,
    retry_jitter: RetryJitter = None,
) -> None:
    """Set the limits of a channel, and create the channel if needed.

    A limit that you do not give stays unchanged. The value 'none' removes a limit.
    """
    given = {
        "max_concurrency": max_concurrency, "min_interval_ms": min_interval_ms, "burst": burst,
        "max_size": max_size, "when_full": when_full, "weight": weight,
        "max_attempts": max_attempts, "retry_delays_ms": retry_delays_ms,
        "retry_jitter": retry_jitter,
    }  # fmt: skip
    options = {
        key: None if text == "none" else PARSERS[key](text)
        for key, text in given.items()
        if text is not None
    }
    answer = session.queue.channel_set(channel, **options)
    limits = format_limits(fetch_channel(session, channel)) or "no limits"
    session.out.print_result(
        {"channel": channel, "answer": answer, "set": options},
        lambda: f"{answer}: {channel}, {limits}",
    )


@command(app, "pause")
def pause_channel(session: Session, channel: ChannelName) -> None:
    """Stop giving messages of a channel to workers. The channel still accepts new messages."""
    session.print_answer("channel", channel, session.queue.channel_pause(channel))


@command(app, "resume")
def resume_channel(session: Session, channel: ChannelName) -> None:
    """Give messages of a paused channel to workers again."""
    session.print_answer("channel", channel, session.queue.channel_resume(channel))


@command(app, "retire")
def retire_channel(session: Session, channel: ChannelName, yes: Yes = False) -> None:
    """Retire a channel: reject new messages, and delete the empty channel."""
    stats = fetch_channel(session, channel)
    count = stats.waiting + stats.scheduled + stats.leased
    messages = format_at_least(count, "message", exact=stats.counted_exactly)
    session.confirm(
        f"This will retire channel '{channel}': new messages are rejected, workers still get "
        f"{messages}, and then the channel is deleted with all settings.",
        yes=yes,
    )
    session.print_answer("channel", channel, session.queue.channel_retire(channel))

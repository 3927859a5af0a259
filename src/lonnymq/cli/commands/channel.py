"""`lonnymq channel`: the channels of tenants, their limits and their counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from lonnymq.cli.channel_screen import format_limits, format_reason
from lonnymq.cli.errors import unknown_name_error
from lonnymq.cli.limit_options import LIMITS, limit_options, read_limits
from lonnymq.cli.options import ChannelName, Limit, Yes, option
from lonnymq.cli.output import (
    format_at_least,
    format_number,
    make_list,
    make_table,
    print_next_page,
)
from lonnymq.cli.session import Session, command, create_group
from lonnymq.text import NOTHING, format_duration

if TYPE_CHECKING:
    from lonnymq.results import ChannelStats


app = create_group("List, set, pause and retire channels.")


@command(app, "list")
def list_channels(
    session: Session,
    after: Annotated[str | None, option("Start after this name.")] = None,
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


def describe_policy(channel: ChannelStats) -> dict[str, object]:
    """All options of a channel by name."""
    delays = ", ".join(format_duration(each) for each in channel.retry_delays_ms or [])
    return {
        "max concurrency": format_number(channel.max_concurrency),
        "min interval": format_duration(channel.min_interval_ms),
        "burst": channel.burst,
        "max size": format_number(channel.max_size),
        "when full": channel.when_full,
        "weight": channel.weight,
        "max attempts": channel.max_attempts,
        "retry delays": f"{delays}, plus up to {channel.retry_jitter or 0:.0%}",
        "paused": channel.paused,
        "retiring": channel.retiring,
    }


def fetch_channel(session: Session, channel: str) -> ChannelStats:
    """The statistics of a channel, or the error that there is no such channel."""
    stats = session.queue.channel(channel).stats()
    if stats is None:
        raise unknown_name_error("channel", channel)
    return stats


@command(app, "set", options=limit_options(LIMITS))
def set_channel(session: Session, channel: ChannelName, **given: str | None) -> None:
    """Set the limits of a channel, and create the channel if needed.

    A limit that you do not give stays unchanged. The value 'none' removes a limit.
    """
    options = read_limits(LIMITS, given)
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

"""`lonnymq channel`: tenants' channels, their limits and their figures."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lonnymq.cli.confirmation import sure
from lonnymq.cli.commands.channel_options import (
    Burst,
    MaxAttempts,
    MaxConcurrency,
    MaxSize,
    ReleaseInterval,
    RetryDelays,
    RetryJitter,
    Weight,
    WhenFull,
    given_options,
)
from lonnymq.cli.options import ChannelName, Yes
from lonnymq.cli.output.console import pairs, rows, table
from lonnymq.cli.session import Session, command, group, unknown_channel
from lonnymq.cli.output.channel_text import limits, policy, why
from lonnymq.cli.output.formatting import NOTHING, counted, number, readable
from lonnymq.text import format_duration

if TYPE_CHECKING:
    from lonnymq.results import ChannelStats

app = group("Channels: a tenant's line of messages each, with its limits.")


@command(app, "list")
def list_channels(
    at: Session,
    after: Annotated[str | None, typer.Option(help="Begin after this name.")] = None,
    limit: Annotated[int, typer.Option(help="So many at most.", min=1, max=10_000)] = 50,
) -> None:
    """List channels by name, a page at a time."""
    found = at.queue.channel_stats(after=after, limit=limit)
    more = found[-1].channel if len(found) == limit else None
    now = at.queue.epoch()
    document = {"channels": found, "next_after": more, "now_at": now}
    at.out.answer(document, lambda: channel_table(found, now))
    if more is not None:
        at.out.note(f"There may be more: lonnymq channel list --after {quote(readable(more))}")


def channel_table(found: list[ChannelStats], now: int) -> Any:
    """Channels as people see them."""
    if not found:
        return "No channels yet: the first message makes one."
    made = table("channel", "state", ">waiting", ">later", ">running", ">dead", ">oldest", "limits")
    lines = (
        [
            each.channel, each.state, number(each.waiting, exact=each.counted_exactly),
            each.scheduled, each.in_flight, each.dead,
            format_duration(now - each.oldest_at) if each.oldest_at is not None else NOTHING,
            limits(each),
        ]
        for each in found
    )  # fmt: skip
    return rows(made, lines)


@command(app)
def show(at: Session, channel: ChannelName) -> None:
    """Show one channel: its state and why, its counts, its policy."""
    stats = one(at, channel)
    now = at.queue.epoch()
    reason = why(stats, now)

    def people() -> Any:
        counts = {
            "channel": stats.channel,
            "state": f"{stats.state}: {reason}" if reason else stats.state,
            "waiting": number(stats.waiting, exact=stats.counted_exactly),
            "scheduled for later": stats.scheduled,
            "running": stats.in_flight,
            "dead": stats.dead,
            "oldest waits since": format_duration(now - stats.oldest_at)
            if stats.oldest_at is not None
            else NOTHING,
        }
        return pairs({**counts, **policy(stats)})

    at.out.answer({"channel": stats, "why": reason, "now_at": now}, people)


def one(at: Session, channel: str) -> ChannelStats:
    """A channel's figures, or the rejection."""
    stats = at.queue.channel(channel).stats()
    if stats is None:
        raise unknown_channel(channel)
    return stats


@command(app, "set")
def set_channel(
    at: Session,
    channel: ChannelName,
    max_concurrency: MaxConcurrency = None,
    min_interval: ReleaseInterval = None,
    burst: Burst = None,
    max_size: MaxSize = None,
    when_full: WhenFull = None,
    weight: Weight = None,
    max_attempts: MaxAttempts = None,
    retry_delays: RetryDelays = None,
    retry_jitter: RetryJitter = None,
) -> None:
    """Set a channel's limits; what is not given stays as it is, 'none' takes a limit away.

    A channel that does not exist comes into being.
    """
    options = given_options(
        max_concurrency=max_concurrency,
        min_interval_ms=min_interval,
        burst=burst,
        max_size=max_size,
        when_full=when_full,
        weight=weight,
        max_attempts=max_attempts,
        retry_delays_ms=retry_delays,
        retry_jitter=retry_jitter,
    )
    answer = at.queue.channel_set(channel, **options)
    stats = one(at, channel)
    at.out.answer(
        {"channel": channel, "answer": answer, "set": options},
        lambda: f"{answer}: {channel}, {limits(stats) or 'no limits'}",
    )


@command(app)
def pause(at: Session, channel: ChannelName) -> None:
    """Stop handing out a channel's messages; new ones are taken in."""
    tell(at, channel, at.queue.channel_pause(channel))


@command(app)
def resume(at: Session, channel: ChannelName) -> None:
    """Hand out a paused channel's messages again."""
    tell(at, channel, at.queue.channel_resume(channel))


@command(app)
def release(at: Session, channel: ChannelName, yes: Yes = False) -> None:
    """Retire a channel: it takes no new messages, and goes with its settings when it is empty."""
    stats = one(at, channel)
    live = counted(
        stats.waiting + stats.scheduled + stats.leased, "message", exact=stats.counted_exactly
    )
    sure(
        f"This will retire channel '{channel}': new messages are rejected, {live} "
        "will still be handed out, and then the channel and its settings are gone.",
        yes=yes,
    )
    tell(at, channel, at.queue.channel_retire(channel))


def tell(at: Session, channel: str, answer: str) -> None:
    """Answer with the word that the queue answered, or say that there is no such channel."""
    if answer == "not_found":
        raise unknown_channel(channel)
    at.out.answer(
        {"channel": channel, "answer": answer}, lambda: f"{answer.replace('_', ' ')}: {channel}"
    )

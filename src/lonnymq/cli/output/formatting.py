"""Times, numbers, contents and the state of channels as text for people."""

from __future__ import annotations

from base64 import b64encode
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from lonnymq.text import NOTHING, format_count, format_duration

if TYPE_CHECKING:
    from rich.text import Text

    from lonnymq.results import ChannelActivity, ChannelStats

    AnyChannel = ChannelStats | ChannelActivity

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
YEARS = 365 * 86_400_000


def format_timestamp(epoch_ms: int | None) -> str:
    """A time in UTC, or the bare number outside of the calendar."""
    if epoch_ms is None:
        return NOTHING
    if not 0 <= epoch_ms < 8_000 * YEARS:
        return str(epoch_ms)
    read = EPOCH + timedelta(milliseconds=epoch_ms)
    return f"{read:%Y-%m-%d %H:%M:%S} UTC"


def format_number(value: float | None, *, exact: bool = True) -> str:
    """A number with thousands separators; with a plus if counting stopped early."""
    if value is None:
        return NOTHING
    return f"{value:,}" + ("" if exact else "+")


def format_at_least(value: int, noun: str, *, exact: bool) -> str:
    """A count with its noun: '1 message', or '10,000 messages or more' if counting stopped early."""
    return format_count(value, noun) if exact else f"{value:,} {noun}s or more"


def escape_controls(text: str) -> str:
    """The text with escaped control characters, because tenants' text must not control a terminal."""
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in text
    )


def to_cell(value: object) -> Text:
    """The value as text without markup or control characters; None is a dash."""
    from rich.text import Text

    if isinstance(value, Text):
        return value
    if value is None:
        return Text(NOTHING, style="dim")
    if isinstance(value, bool):
        return Text("yes" if value else "no")
    if isinstance(value, int | float):
        return Text(format_number(value))
    return Text(escape_controls(str(value)))


def format_content(content: bytes | None, *, max_bytes: int = 200) -> str | None:
    """The start of a content: text if it is text, else hexadecimal."""
    if content is None:
        return None
    cut = content[:max_bytes]
    more = f" … ({len(content):,} bytes)" if len(content) > max_bytes else ""
    try:
        return escape_controls(cut.decode()) + more
    except UnicodeDecodeError as error:
        if error.start >= len(cut) - 3 and more:  # cut inside a character
            return escape_controls(cut[: error.start].decode()) + more
        return "0x" + cut.hex() + more


def content_fields(key: str, content: Any) -> dict[str, str | None]:
    """The two JSON fields of a content: `content` for text, else `content_base64`; the other field is null."""
    text, base64 = None, None
    if content is not None:
        try:
            text = bytes(content).decode()
        except UnicodeDecodeError:
            base64 = b64encode(bytes(content)).decode()
    return {key: text, f"{key}_base64": base64}


def format_limits(channel: AnyChannel) -> str:
    """The limits of a channel in a few words, '' without limits."""
    limits = {
        f"{format_number(channel.max_concurrency)} at once": channel.max_concurrency,
        format_rate_limit(channel): channel.min_interval_ms,
        f"{format_number(channel.max_size)} live": channel.max_size,
        f"weight {channel.weight}": channel.weight != 1,
    }
    return ", ".join(text for text, is_set in limits.items() if is_set)


def format_rate_limit(channel: AnyChannel) -> str:
    """The rate limit: the interval, and the burst if there is one."""
    burst = f", {channel.burst} in a burst" if (channel.burst or 1) > 1 else ""
    return f"1 per {format_duration(channel.min_interval_ms)}{burst}"


def format_reason(channel: AnyChannel, now: int) -> str:
    """Why workers get no message of a channel at this time; '' if they do or if the channel is empty."""
    match channel.state:
        case "saturated":
            reason = f"{channel.in_flight} of {channel.max_concurrency} running"
        case "throttled":
            wait = max(0, (channel.next_at or now) - now)
            reason = f"next in {format_duration(wait)}, {format_rate_limit(channel)}"
        case "paused":
            reason = "paused"
        case "scheduled" if channel.next_at is not None:
            reason = f"first due in {format_duration(max(0, channel.next_at - now))}"
        case "retiring":
            return "retiring"
        case _:
            reason = ""
    return (reason + (" (retiring)" if channel.retiring else "")).strip()


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

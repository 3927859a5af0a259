"""Times, durations, counts and contents in the words that people read and write on a command line."""

from __future__ import annotations

import re
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.text import Text

NOTHING = "-"
UNITS = {"ms": 1, "s": 1_000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|min|m|h|d)")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
YEARS = 365 * 86_400_000


def milliseconds(text: str) -> int:
    """A duration as people write it: 250ms, 1.5s, 10m, 2h, 1d, or 1h30m; without a unit it is rejected."""
    if text.strip() == "0":
        return 0
    if not re.fullmatch(rf"(?:\s*{DURATION.pattern})+\s*", text):
        raise ValueError(f"'{text}' is not a duration: write 250ms, 1.5s, 10m, 2h or 1d")
    return round(sum(float(number) * UNITS[unit] for number, unit in DURATION.findall(text)))


def moment(text: str) -> int | datetime:
    """A moment as people write it: an ISO 8601 date and time with its zone, or epoch milliseconds."""
    if re.fullmatch(r"[+-]?\d+", text.strip()):
        return int(text)
    try:
        read = datetime.fromisoformat(text.strip())
    except ValueError:
        read = None
    if read is None or read.utcoffset() is None:
        raise ValueError(
            f"'{text}' is not a moment: write 2030-01-31T08:00:00+01:00, or epoch milliseconds"
        )
    return read


def at(epoch_ms: int | None) -> str:
    """A moment in UTC; what lies outside of any calendar is a number."""
    if epoch_ms is None:
        return NOTHING
    if not 0 <= epoch_ms < 8_000 * YEARS:
        return str(epoch_ms)
    read = EPOCH + timedelta(milliseconds=epoch_ms)
    return f"{read:%Y-%m-%d %H:%M:%S} UTC"


def number(value: float | None, *, exact: bool = True) -> str:
    """A number with its thousands apart; with a plus if it was not counted to the end."""
    if value is None:
        return NOTHING
    return f"{value:,}" + ("" if exact else "+")


def counted(value: int, one: str, *, exact: bool = True) -> str:
    """So many of something: '1 message', '10,000 messages or more'."""
    words = f"{value:,} {one}" + ("" if value == 1 and exact else "s")
    return words if exact else f"{words} or more"


def readable(text: str) -> str:
    """The text with its control characters spelled out: what a tenant wrote must not steer a terminal."""
    return "".join(each if each.isprintable() else escape(each) for each in text)


def escape(character: str) -> str:
    """A character that is not printable, as Python would write it."""
    return character.encode("unicode_escape").decode()


def plain(value: object) -> Text:
    """The value as text without markup or control characters; None is a dash."""
    from rich.text import Text

    if isinstance(value, Text):
        return value
    if value is None:
        return Text(NOTHING, style="dim")
    if isinstance(value, bool):
        return Text("yes" if value else "no")
    if isinstance(value, int | float):
        return Text(number(value))
    return Text(readable(str(value)))


def content_text(content: bytes | None, *, most: int = 200) -> str | None:
    """The start of a content: text if it is text, else hexadecimal."""
    if content is None:
        return None
    cut = content[:most]
    more = f" … ({len(content):,} bytes)" if len(content) > most else ""
    try:
        return readable(cut.decode()) + more
    except UnicodeDecodeError as error:
        if error.start >= len(cut) - 3 and more:  # cut inside a character
            return readable(cut[: error.start].decode()) + more
        return "0x" + cut.hex() + more


def content_fields(key: str, content: Any) -> dict[str, str | None]:
    """The two fields of a content in JSON: `content` if it is text, else `content_base64`; the other is null."""
    text, base64 = None, None
    if content is not None:
        try:
            text = bytes(content).decode()
        except UnicodeDecodeError:
            base64 = b64encode(bytes(content)).decode()
    return {key: text, f"{key}_base64": base64}

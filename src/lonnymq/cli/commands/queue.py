"""`lonnymq queue`: the settings of the whole queue, and the defaults of new channels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from lonnymq.cli.limit_options import LIMITS, Setting, limit_options, parse_integer, read_limits
from lonnymq.cli.options import option
from lonnymq.cli.output import make_list
from lonnymq.cli.session import Session, command, create_group
from lonnymq.client import calls
from lonnymq.text import format_count, parse_duration

PAGE = 100
HIDDEN = ("written_by", "table_oid", "limit_epoch", "generation")

app = create_group("Show and set the limit of the queue, the history and the defaults of channels.")


SETTINGS: dict[str, Setting] = {
    "max_concurrency": (
        parse_integer,
        "N",
        "Maximum number of messages of all channels that run at the same time.",
    ),
    "history": (str, "off|outcomes|content", "What history keeps of each attempt."),
    "history_keep_ms": (parse_duration, "TIME", "How long history is kept: 7d, 12h."),
    "channel_idle_ms": (
        parse_duration,
        "TIME",
        "How long an empty channel without settings is kept.",
    ),
    **{
        f"default_{key}": (parse, metavar, f"{text} Default of new channels.")
        for key, (parse, metavar, text) in LIMITS.items()
    },
}


@command(app, "show")
def show_queue(session: Session) -> None:
    """Show the settings of the queue and the defaults of new channels."""
    found = fetch_settings(session)
    fields = {key.replace("_", " "): value for key, value in found.items()}
    session.out.print_result({"settings": found}, lambda: make_list(fields))


def fetch_settings(session: Session) -> dict[str, Any]:
    """The settings of the queue by name."""
    found = session.queue._run(calls.queue_options_now(session.schema))
    return {key: value for key, value in found.items() if key not in HIDDEN}


@command(app, "set", options=limit_options(SETTINGS))
def set_queue(
    session: Session,
    existing: Annotated[
        bool,
        option(
            "Set the new defaults in existing channels too, if they have the old defaults.",
            "--existing",
        ),
    ] = False,
    **given: str | None,
) -> None:
    """Set the limit of the queue, the history, and the defaults of new channels.

    A setting that you do not give stays unchanged. The value 'none' removes a limit.
    Existing channels keep their limits, unless you add --existing.
    """
    options = read_limits(SETTINGS, given)
    before = fetch_settings(session)
    answer = session.queue.set(**options)
    defaults = {
        key.removeprefix("default_"): value
        for key, value in options.items()
        if key.startswith("default_")
    }
    changed = set_existing(session, before, defaults) if existing else 0
    session.out.print_result(
        {"answer": answer, "set": options, "channels": changed},
        lambda: (
            f"{answer}: queue in schema {session.schema}{describe_reach(defaults, changed, existing=existing)}"
        ),
    )


def set_existing(session: Session, before: Mapping[str, Any], defaults: dict[str, Any]) -> int:
    """Set new defaults in each existing channel that has the old default. Return the number of changed channels."""
    changed, after = 0, None
    while page := session.queue.channel_stats(after=after, limit=PAGE):
        for channel in page:
            options: Any = {
                key: value
                for key, value in defaults.items()
                if getattr(channel, key) == before[f"default_{key}"]
            }
            if options:
                changed += session.queue.channel_set(channel.channel, **options) != "unchanged"
        after = page[-1].channel
    return changed


def describe_reach(defaults: Mapping[str, Any], changed: int, *, existing: bool) -> str:
    """Which channels have the new defaults."""
    if not defaults:
        return ""
    if existing:
        return f", and {format_count(changed, 'existing channel')}"
    return ". Existing channels keep their limits. Add --existing to change these channels too"

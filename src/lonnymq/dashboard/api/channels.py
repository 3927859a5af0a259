"""Channels: found by name, ranked by activity, one channel with its history. No query reads all channels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lonnymq.client import calls
from lonnymq.dashboard.access import Access, Role, matches
from lonnymq.dashboard.api.ranges import HOUR_MS, Range, find_range
from lonnymq.dashboard.api.schemas import (
    OUTCOMES,
    SETTINGS,
    AttemptStats,
    ChannelPoint,
    ChannelRow,
    build_count,
    select_fields,
)
from lonnymq.dashboard.errors import not_found
from lonnymq.dashboard.queues import MonitoredQueue, QueueTransaction, Row, per_second
from lonnymq.dashboard.request import cursor_error, decode_cursor, encode_cursor

STEP_MS = 60_000  # of the samples of channels
SORTS = ("name", "waiting", "running", "oldest", "rate", "failing", "dead")
EXACT_STATES = ("paused", "retiring", "saturated", "throttled")
MAX_RANKED = 1000
MAX_COUNTED, MAX_LISTED = 10_000, 1000
MAX_DEAD = 1000


async def list_channels(
    queue: MonitoredQueue,
    *,
    search: str,
    sort: str,
    state: str | None,
    cursor: str | None,
    limit: int,
    access: Access,
) -> dict[str, Any]:
    """A page of channels: by name, or the leading channels by activity.

    The cost of a page does not depend on the number of channels.
    """
    if sort == "name" and not state:
        if access.patterns is not None:
            return await list_allowed(
                queue, access.patterns, search=search, cursor=cursor, limit=limit
            )
        return await list_by_name(queue, search=search, cursor=cursor, limit=limit)
    (start,) = decode_cursor(cursor, (0,), int)
    if not 0 <= start <= 2000:
        raise cursor_error()
    async with queue.read_transaction() as transaction:
        order = await transaction.rows(calls.channel_rank, sort) if sort != "name" else []
        ranks = {each["channel"]: each["figure"] for each in order}
        names = list(ranks)
        in_state: set[str] = set()
        if state:
            in_state = set(await transaction.call(calls.channel_in_state, state))
            names = [name for name in names if name in in_state] + sorted(in_state - set(names))
        names = [
            name
            for name in names
            if search.lower() in name.lower() and access.allows(Role.VIEW, name)
        ]
        chosen = names[start : start + limit]
        is_exact = await is_ranked_exactly(transaction, sort, state, len(in_state))
        estimates = ranks if sort == "waiting" and not is_exact else {}
        page = await read_rows(
            transaction, chosen, estimates, count=MAX_COUNTED if is_exact else MAX_LISTED
        )
    following = encode_cursor(start + limit) if start + limit < len(names) else None
    return {
        **page,
        "next": following,
        "ranked": "exact" if is_exact else "estimated",
        "complete": following is None,
        "searched": len(names),
    }


async def is_ranked_exactly(
    transaction: QueueTransaction, sort: str, state: str | None, found: int
) -> bool:
    """Whether a list has all channels that belong into it, in the right order."""
    if state:
        return state in EXACT_STATES and found < MAX_RANKED
    if sort != "waiting":
        return sort == "failing"
    (figures,) = await transaction.rows(calls.queue_metrics)
    return bool(figures["waiting_is_exact"])


async def list_by_name(
    queue: MonitoredQueue, *, search: str, cursor: str | None, limit: int
) -> dict[str, Any]:
    """Channels by name: first the names that start with the search text, then the names that contain it."""
    part, after = decode_cursor(cursor, ("begins" if search else "all", ""), str, str)
    if part not in ("all", "begins", "contains"):
        raise cursor_error()
    async with queue.read_transaction() as transaction:
        found = await transaction.rows(
            calls.channel_names,
            search if part == "begins" else "",
            text=search if part == "contains" else "",
            after=after,
            limit=limit,
            most=MAX_COUNTED if part == "contains" else limit + 1,
        )
        names = [each["channel"] for each in found if each["channel"] is not None]
        if part == "contains":
            names = [name for name in names if not name.startswith(search)]
        page = await read_rows(transaction, names)
    upto = found[0]["upto"]
    following = encode_cursor(part, upto) if upto is not None else None
    if following is None and part == "begins":
        following = encode_cursor("contains", "")
    return {
        **page,
        "next": following,
        "ranked": "exact",
        "complete": following is None,
        "searched": found[0]["looked_at"] if part == "contains" else 0,
    }


async def list_allowed(
    queue: MonitoredQueue,
    patterns: tuple[str, ...],
    *,
    search: str,
    cursor: str | None,
    limit: int,
) -> dict[str, Any]:
    """Channels by name that these patterns allow, one pattern after the other."""
    number, after = decode_cursor(cursor, (0, ""), int, str)
    if not 0 <= number < len(patterns):
        raise cursor_error()
    pattern = patterns[number]
    async with queue.read_transaction() as transaction:
        found = await transaction.rows(
            calls.channel_names, pattern.removesuffix("*"), text=search, after=after, limit=limit
        )
        earlier = patterns[:number]
        names = [
            each["channel"]
            for each in found
            if each["channel"] is not None
            and matches(each["channel"], pattern)
            and not any(matches(each["channel"], other) for other in earlier)
        ]
        page = await read_rows(transaction, names)
    upto = found[0]["upto"] if pattern.endswith("*") else None
    following = encode_cursor(number, upto) if upto is not None else None
    if following is None and number + 1 < len(patterns):
        following = encode_cursor(number + 1, "")
    return {
        **page,
        "total": build_count(len(names), at_least=following is not None or number > 0),
        "next": following,
        "ranked": "exact",
        "complete": following is None,
        "searched": found[0]["looked_at"],
    }


async def read_rows(
    transaction: QueueTransaction,
    names: list[str],
    estimates: dict[str, int] | None = None,
    *,
    count: int = MAX_LISTED,
) -> dict[str, Any]:
    """The channels with these names, in this order."""
    active = await transaction.rows(calls.channel_active, names, count=count)
    dead = await transaction.rows(calls.channel_dead, names)
    (figures,) = await transaction.rows(calls.queue_metrics)
    died = {each["channel"]: each["dead"] for each in dead}
    found = {
        each["channel"]: format_row(
            each,
            dead=died.get(each["channel"], 0),
            estimate=(estimates or {}).get(each["channel"]),
        )
        for each in active
    }
    return {
        "now_at": figures["now_at"],
        "channels": [found[name] for name in names if name in found],
        "total": build_count(figures["channels"], exact=figures["channels_is_exact"]),
    }


async def read_channel(queue: MonitoredQueue, name: str) -> dict[str, Any]:
    """One channel: its state, its limits, and its last hour."""
    async with queue.read_transaction() as transaction:
        stats = await transaction.rows(calls.channel_stats, name)
        if not stats:
            raise not_found(
                "This channel does not exist.",
                "The first message creates a channel. A channel that is idle for long is removed.",
            )
        (active,) = await transaction.rows(calls.channel_active, [name])
        options = await transaction.call(calls.queue_options_now)
        ended = await transaction.rows(
            calls.attempt_stats, "channel", start=active["now_at"] - HOUR_MS, names=[name]
        )
    return {
        "now_at": active["now_at"],
        "channel": format_details(stats[0], active),
        "stats": format_stats(ended[0]) if ended else None,
        "defaults": {word: options[f"default_{word}"] for word in SETTINGS},
    }


def format_details(stats: Row, active: Row) -> dict[str, Any]:
    """A channel with all of its settings. Messages are counted up to ten thousand."""
    counted = stats["counted_exactly"]
    return {
        **format_row(active),
        "waiting": build_count(stats["waiting"], at_least=not counted),
        "scheduled": build_count(stats["scheduled"], exact=counted),
        "dead": build_count(stats["dead"], at_least=stats["dead"] >= MAX_COUNTED),
        "size": build_count(stats["size"], exact=counted or stats["max_size"] is not None),
        **{word: stats[word] for word in SETTINGS},
    }


def format_row(
    row: Mapping[str, Any], *, dead: int = 0, estimate: int | None = None
) -> dict[str, Any]:
    """A channel in a list, from a row of `channel_active`."""
    counted = row["counted_exactly"]
    waiting = build_count(row["waiting"], at_least=not counted)
    if not counted and estimate is not None and estimate > row["waiting"]:
        waiting = build_count(estimate, exact=False)
    return select_fields(
        ChannelRow,
        row,
        held=explain_hold(row),
        waiting=waiting,
        scheduled=build_count(row["scheduled"], exact=counted),
        running=row["in_flight"],
        out_per_s=per_second(row["completed"], row["finished_ms"]),
        turns_share=find_share(row["finished"], row["ended"]),
        failed_share=find_share(
            row["recent_failed"], (row["recent_failed"] or 0) + (row["recent_completed"] or 0)
        ),
        rate_limit_per_s=per_second(1, row["min_interval_ms"]),
        oldest_at=row["waiting_since"],
        dead=build_count(dead, at_least=dead >= MAX_DEAD),
    )


def format_stats(row: Row) -> dict[str, Any]:
    """The outcomes and durations of a channel or a kind."""
    failed = row["failed"] + row["expired"] + row["died"]
    return select_fields(
        AttemptStats, row, failed_share=find_share(failed, failed + row["completed"])
    )


def find_share(part: int | None, whole: int | None) -> float | None:
    """A share between 0 and 1, unknown where there is nothing to share."""
    return round(part / whole, 4) if part is not None and whole else None


def explain_hold(row: Mapping[str, Any]) -> str | None:
    """Why workers get no message of a channel now, or None."""
    match row["state"]:
        case "paused":
            return "Paused: workers get no messages until you resume the channel."
        case "saturated":
            return f"At the limit: {row['in_flight']} of {row['max_concurrency']} are running."
        case "throttled":
            return f"At the rate limit: one message every {row['min_interval_ms']} ms."
        case "scheduled":
            return "Scheduled: the first message is due later."
        case "retiring":
            return "Being released: the channel accepts no new messages."
        case _:
            return None


async def read_series(
    queue: MonitoredQueue, *, name: str, span: str, start: int | None, end: int | None
) -> dict[str, Any]:
    """The history of a channel over a range of time."""
    async with queue.read_transaction() as transaction:
        now_at = await transaction.call(calls.epoch)
        wanted = find_range(now_at, span, start, end, least_ms=STEP_MS)
        return await read_history(transaction, name, wanted)


async def read_history(transaction: QueueTransaction, name: str, wanted: Range) -> dict[str, Any]:
    """The outcomes of a channel's attempts, from samples or else from the latest attempts.

    `exact` is false if outcomes since `from_at` may be missing.
    """
    start, step_ms = wanted.from_at, wanted.step_ms
    rows = await transaction.rows(calls.channel_sample_list, name, start=start, step_ms=step_ms)
    is_sampled = rows[0]["from_at"] is not None
    if not is_sampled:
        rows = await transaction.rows(
            calls.history_recent, start, step_ms=step_ms, channel=name, most=MAX_COUNTED
        )
    first = rows[0]
    return {
        "now_at": first["now_at"],
        "start_at": start,
        "to_at": wanted.to_at,
        "step_ms": step_ms,
        "exact": first["all_channels"] if is_sampled else True,
        "from_at": first["from_at"],
        "points": [
            format_point(each, is_sum=is_sampled)
            for each in rows
            if each["at"] is not None and each["at"] < wanted.to_at
        ],
    }


def format_point(row: Row, *, is_sum: bool) -> dict[str, Any]:
    """A step with mean durations. Durations of samples are sums."""
    attempts = max(sum(row[outcome] for outcome in OUTCOMES), 1) if is_sum else 1
    means = {name: round(row[name] / attempts) for name in ("wait_ms", "run_ms")}
    return select_fields(ChannelPoint, row, **means)

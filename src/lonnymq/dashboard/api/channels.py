"""Channels: found by name, ranked by what goes on in them, one by itself; never all of them at once."""

from __future__ import annotations

from typing import Any

from lonnymq.dashboard.cursors import packed, unpacked
from lonnymq.dashboard.figures import channel_row, figure
from lonnymq.dashboard.past import past
from lonnymq.dashboard.problems import invalid, not_found
from lonnymq.dashboard.queues import Row, Shown, fetch
from lonnymq.dashboard.schemas import POLICY

NAMES = """
select * from {schema}.channel_names(%(prefix)s, %(text)s, %(after)s, %(limit)s, %(most)s)
"""
RANK = "select * from {schema}.channel_rank(%(by)s, 1000)"
IN_STATE = "select * from {schema}.channel_in_state(%(state)s, 1000)"
ROWS = "select * from {schema}.channel_active(1, 1000, %(names)s)"
DEAD = "select * from {schema}.channel_dead(%(names)s)"
FIGURES = "select * from {schema}.queue_figures()"
STATS = "select * from {schema}.channel_stats(%(name)s)"
OPTIONS = "select {schema}.queue_options_now() as options"
SORTS = ("name", "waiting", "running", "oldest", "rate", "dead")
LOOKED_AT = 10_000


async def channels(
    queue: Shown, *, search: str, sort: str, state: str | None, cursor: str | None, limit: int
) -> dict[str, Any]:
    """A page of channels."""
    if sort != "name" or state:
        return await ranked(
            queue, search=search, sort=sort, state=state, cursor=cursor, limit=limit
        )
    return await by_name(queue, search=search, cursor=cursor, limit=limit)


async def by_name(queue: Shown, *, search: str, cursor: str | None, limit: int) -> dict[str, Any]:
    """Channels in the order of their names: first those that begin with what is searched for, then the others."""
    part, after = unpacked(cursor, ("begins" if search else "all", ""), str, str)
    if part not in ("all", "begins", "contains"):
        raise invalid("This cursor is of another list.")
    asked = {
        "prefix": search if part == "begins" else "",
        "text": search if part == "contains" else "",
        "after": after,
        "limit": limit,
        "most": LOOKED_AT if part == "contains" else limit + 1,
    }
    async with queue.reading() as connection:
        found = await fetch(connection, queue.schema, NAMES, asked)
        names = [each["channel"] for each in found if each["channel"] is not None]
        if part == "contains":
            names = [name for name in names if not name.startswith(search)]
        page = await rows_of(connection, queue.schema, names)
    upto = found[0]["upto"]
    following = packed(part, upto) if upto is not None else None
    if following is None and part == "begins":
        following = packed("contains", "")
    return {
        **page,
        "next": following,
        "ranked": "exact",
        "complete": following is None,
        "searched": found[0]["looked_at"] if part == "contains" else 0,
    }


async def ranked(
    queue: Shown, *, search: str, sort: str, state: str | None, cursor: str | None, limit: int
) -> dict[str, Any]:
    """Channels by what goes on in them: the leading ones, from a look that costs the same however many there are."""
    (start,) = unpacked(cursor, (0,), int)
    if not 0 <= start <= 2000:
        raise invalid("This cursor is of another list.")
    async with queue.reading() as connection:
        order = await fetch(connection, queue.schema, RANK, {"by": sort}) if sort != "name" else []
        figures = {each["channel"]: each["figure"] for each in order}
        names = list(figures)
        if state:
            standing = await fetch(connection, queue.schema, IN_STATE, {"state": state})
            stand = {each["channel"] for each in standing}
            names = [name for name in names if name in stand] + sorted(stand - set(names))
        names = [name for name in names if search.lower() in name.lower()]
        chosen = names[start : start + limit]
        estimates = figures if sort == "waiting" else {}
        page = await rows_of(connection, queue.schema, chosen, estimates)
    following = packed(start + limit) if start + limit < len(names) else None
    return {
        **page,
        "next": following,
        "ranked": "estimated",
        "complete": following is None,
        "searched": len(names),
    }


async def rows_of(
    connection: Any, schema: str, names: list[str], estimates: dict[str, int] | None = None
) -> dict[str, Any]:
    """The channels of a page, in this order, each with its figures."""
    active = await fetch(connection, schema, ROWS, {"names": names})
    dead = await fetch(connection, schema, DEAD, {"names": names})
    figures = (await fetch(connection, schema, FIGURES))[0]
    died = {each["channel"]: each["dead"] for each in dead}
    found = {
        each["channel"]: channel_row(
            each,
            dead=died.get(each["channel"], 0),
            estimate=(estimates or {}).get(each["channel"]),
        )
        for each in active
    }
    return {
        "now_at": figures["now_at"],
        "channels": [found[name] for name in names if name in found],
        "total": figure(figures["channels"], exact=figures["channels_is_exact"]),
    }


async def channel(queue: Shown, name: str) -> dict[str, Any]:
    """One channel: how it stands, its limits, and what became of its attempts within the hour."""
    async with queue.reading() as connection:
        stats = await fetch(connection, queue.schema, STATS, {"name": name})
        if not stats:
            raise not_found(
                "There is no such channel.",
                "It comes into being with its first message, and is forgotten when it has long been idle.",
            )
        active = await fetch(connection, queue.schema, ROWS, {"names": [name]})
        options = (await fetch(connection, queue.schema, OPTIONS))[0]["options"]
        recent = await past(connection, queue.schema, name, "hour")
    return {
        "now_at": active[0]["now_at"],
        "channel": whole(stats[0], active[0]),
        "defaults": {word: options[f"default_{word}"] for word in POLICY},
        "recent": recent,
    }


def whole(stats: Row, active: Row) -> dict[str, Any]:
    """A channel with all that is known of it: counted up to ten thousand."""
    counted = stats["counted_exactly"]
    return {
        **channel_row(active),
        "waiting": figure(stats["waiting"], at_least=not counted),
        "scheduled": figure(stats["scheduled"], exact=counted),
        "dead": figure(stats["dead"], at_least=stats["dead"] >= LOOKED_AT),
        "size": figure(stats["size"], exact=counted or stats["max_size"] is not None),
        **{word: stats[word] for word in POLICY},
    }

"""Stopping schedules and letting them go on."""

from __future__ import annotations

from typing import Any

from lonnymq import calls
from lonnymq.dashboard.bodies import text_in
from lonnymq.dashboard.deeds import SCHEDULES, Deed, Did, Hand, Will, refuse_unknown
from lonnymq.dashboard.problems import not_found
from lonnymq.dashboard.queues import Row


class PauseSchedule(Deed):
    """Stops a schedule."""

    body = ("name",)

    async def preview(self, hand: Hand, body: dict[str, Any]) -> Will:
        """What will no longer be created."""
        row = await schedule(hand, text_in(body, "name"))
        return Will(
            f"It will create nothing in channel '{row['channel']}' until it is resumed.",
            warning="It is paused already." if row["paused"] else None,
        )

    async def do(self, hand: Hand, body: dict[str, Any]) -> Did:
        """Stop it."""
        name = text_in(body, "name")
        answer = await hand.call(calls.schedule_pause(hand.schema, name))
        refuse_unknown(answer)
        return Did("The schedule is paused.", answer, name)


class ResumeSchedule(Deed):
    """Lets a schedule go on."""

    body = ("name",)

    async def preview(self, hand: Hand, body: dict[str, Any]) -> Will:
        """What will be created again."""
        row = await schedule(hand, text_in(body, "name"))
        return Will(
            f"It will create messages in channel '{row['channel']}' again when their time comes.",
            warning=None if row["paused"] else "It is not paused.",
        )

    async def do(self, hand: Hand, body: dict[str, Any]) -> Did:
        """Let it go on."""
        name = text_in(body, "name")
        answer = await hand.call(calls.schedule_resume(hand.schema, name))
        refuse_unknown(answer)
        return Did("The schedule goes on.", answer, name)


async def schedule(hand: Hand, name: str) -> Row:
    """A schedule that is meant."""
    for each in await hand.rows(SCHEDULES, {}):
        if each["name"] == name:
            return each
    raise not_found("There is no such schedule.")

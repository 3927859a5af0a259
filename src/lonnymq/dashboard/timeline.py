"""A message's life in order: created, due, leased, ended, again, and what is to come."""

from __future__ import annotations

from typing import Any

ENDS = {
    "completed": "Attempt {0} completed it",
    "failed": "Attempt {0} failed",
    "deferred": "Attempt {0} put it back for later",
    "expired": "The lease of attempt {0} ran out",
    "dead": "Attempt {0} was the last: it is dead",
}


def timeline(
    message: dict[str, Any], attempts: list[dict[str, Any]], now_at: int
) -> list[dict[str, Any]]:
    """What happened to a message, and what is to happen, in order."""
    steps = [step(message["created_at"], "created", "It was created")]
    due_at = attempts[0]["dequeue_at"] if attempts else message["dequeue_at"]
    if due_at > message["created_at"]:
        steps.append(step(due_at, "due", "It was due", future=due_at > now_at))
    for each in attempts:
        number = each["attempt"]
        by = f" by {each['worker']}" if each["worker"] else ""
        steps.append(
            step(each["dequeued_at"], "leased", f"Attempt {number} was leased{by}", number)
        )
        words = ENDS[each["outcome"]].format(number)
        said = f": {each['summary']}" if each["summary"] else ""
        steps.append(step(each["finished_at"], each["outcome"], words + said, number))
    steps += standing(message, attempts, now_at)
    return sorted(steps, key=lambda each: (each["future"], each["at"]))


def standing(
    message: dict[str, Any], attempts: list[dict[str, Any]], now_at: int
) -> list[dict[str, Any]]:
    """How a message stands now: whose lease it is, or when it is due again."""
    number = message["attempt"]
    match message["state"]:
        case "leased":
            by = f" by {message['worker']}" if message["worker"] else ""
            until = message["lease_until"]
            return [
                step(message["dequeued_at"], "leased", f"Attempt {number} was leased{by}", number),
                step(until, "lease_ends", "The lease ends unless it is extended", number,
                     future=until > now_at),
            ]  # fmt: skip
        case "waiting" | "scheduled" if attempts:
            due_at = message["dequeue_at"]
            return [step(due_at, "retry_due", "It is due again", future=due_at > now_at)]
        case "dead" if not any(each["outcome"] == "dead" for each in attempts):
            return [step(message["died_at"], "dead", "It died")]
        case _:
            return []


def step(
    at: int, what: str, text: str, attempt: int | None = None, *, future: bool = False
) -> dict[str, Any]:
    """One step."""
    return {"at": at, "what": what, "text": text, "attempt": attempt, "future": future}

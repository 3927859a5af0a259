"""The functions behind Spark: loads and their stages, streams and their claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar
from uuid import UUID

from lonnymq.client.arguments import Argument, Count, Identifier, Ids, Names, Period, Text, Time
from lonnymq.client.describe import ADMIN, CONSUMER, PRODUCER, READER, VIEWER, sql_function

Value = TypeVar("Value")


def unchecked(_: str, value: Value) -> Value:
    """A column that Spark has typed already."""
    return value


Texts = Annotated[Sequence[str | None], Argument("text[]", "Sequence[str | None]", unchecked)]
Numbers = Annotated[Sequence[int | None], Argument("bigint[]", "Sequence[int | None]", unchecked)]
Tokens = Annotated[Sequence[UUID | str], Argument("uuid[]", "Sequence[UUID | str]", unchecked)]
States = Annotated[Sequence[bytes | None], Argument("bytea[]", "Sequence[bytes | None]", unchecked)]


@dataclass(frozen=True, slots=True)
class StageTaken:
    """What became of the rows of a stage."""

    created: int
    duplicate: int
    dropped: int
    rejected: int
    invalid: int


@dataclass(frozen=True, slots=True)
class Load(StageTaken):
    """A load that was published, and what became of its rows."""

    app: str
    version: int
    published_at: int


@dataclass(frozen=True, slots=True)
class StageCleanup:
    """How many stages were dropped and how many loads forgotten."""

    dropped: int
    forgotten: int


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream, and how much it has claimed."""

    name: str
    epoch: int
    acknowledged: int
    opened_at: int
    claims: int
    messages: int
    claimed_at: int | None


@dataclass(frozen=True, slots=True)
class StreamOpened:
    """A stream that belongs to the caller from now on."""

    epoch: int
    acknowledged: int
    last_id: int
    now_at: int


@dataclass(frozen=True, slots=True)
class ClaimTaken:
    """What was added to a claim, or why nothing was."""

    answer: str
    token: str | None
    messages: int
    is_limited: bool
    retry_at: int | None
    cursor: list[int]


@dataclass(frozen=True, slots=True)
class ClaimPart:
    """A part of a claim that is not settled yet."""

    seq: int
    token: str
    made_at: int
    timeout_at: int | None
    part: int
    messages: int


@dataclass(frozen=True, slots=True)
class ClaimSettled:
    """What became of a part of a claim."""

    completed: int
    deferred: int
    retrying: int
    dead: int
    lost: int
    is_more: bool


@dataclass(frozen=True, slots=True)
class ClaimRenewed:
    """How many messages of a claim still belong to the claim."""

    seq: int
    held: int
    lost: int
    lease_until: int | None


@dataclass(frozen=True, slots=True)
class ClaimDecided:
    """Whether the outcome of a claimed message was noted."""

    id: int
    answer: str


@dataclass(frozen=True, slots=True)
class ClaimedMessage:
    """A message of a claim."""

    id: int
    channel: str
    content: bytes
    state: bytes | None
    kind: str | None
    headers: Mapping[str, Any] | None
    key: str | None
    created_at: int
    dequeue_at: int


@sql_function(PRODUCER, method=False)
def load_begin(app: Text, version: Identifier) -> str:
    """Begin to publish a load, which is published once."""


@sql_function(PRODUCER, method=False)
def load_end(
    app: Text,
    version: Identifier,
    *,
    created: Identifier,
    duplicate: Identifier,
    dropped: Identifier,
    rejected: Identifier,
    invalid: Identifier,
) -> None:
    """Write down what became of the rows of a load."""


@sql_function(VIEWER, method=False)
def load_list(app: Text | None = None, *, limit: Count = 100) -> list[Load]:
    """The loads that were published."""


@sql_function(PRODUCER, method=False)
def stage_create() -> int:
    """Make a table for rows that are published together."""


@sql_function(PRODUCER, method=False)
def stage_take(stage: Identifier, *, rows: Identifier) -> StageTaken:
    """Make messages of the rows of a stage."""


@sql_function(PRODUCER, method=False)
def stage_drop(stages: Ids) -> int:
    """Drop stages that are not needed any more."""


@sql_function(PRODUCER, method=False)
def stage_cleanup(
    stage_ms: Period = 86_400_000, *, load_ms: Period = 2_592_000_000
) -> StageCleanup:
    """Drop stages that nobody has published, and forget old loads."""


@sql_function(CONSUMER, method=False)
def stream_open(stream: Text) -> StreamOpened:
    """Take a stream over, and make it if there is none of the name."""


@sql_function(ADMIN, method=False)
def stream_drop(stream: Text) -> str:
    """Forget a stream and give its claims back."""


@sql_function(READER, method=False)
def stream_list() -> list[Stream]:
    """The streams, and how much each has claimed."""


@sql_function(CONSUMER, method=False)
def claim_take(
    stream: Text,
    epoch: Identifier,
    seq: Identifier,
    *,
    limit: Count,
    lease_ms: Period = 600_000,
    timeout_ms: Period | None = None,
    cursor: Numbers | None = None,
    channels: Names | None = None,
    pattern: Text | None = None,
    last_id: Identifier | None = None,
    last_at: Time | None = None,
) -> ClaimTaken:
    """Add messages to a claim: lease them, channel by channel in turn, under every limit."""


@sql_function(READER, method=False)
def claim_list(stream: Text) -> list[ClaimPart]:
    """The parts of a stream's claims that are not settled yet."""


@sql_function(CONSUMER, method=False)
def claim_read(
    stream: Text, seq: Identifier, token: Text, *, part: Count, first: Count, last: Count
) -> list[ClaimedMessage]:
    """The messages of one part of a claim, or of a range of the part."""


@sql_function(CONSUMER, method=False)
def claim_decide(
    ids: Numbers,
    tokens: Tokens,
    outcomes: Texts,
    *,
    delays_ms: Numbers | None = None,
    errors: Texts | None = None,
    states: States | None = None,
) -> list[ClaimDecided]:
    """Say what is to come of claimed messages when their claim is acknowledged."""


@sql_function(CONSUMER, method=False)
def claim_renew(
    stream: Text, epoch: Identifier, *, lease_ms: Period = 600_000
) -> list[ClaimRenewed]:
    """Extend the leases of all messages that a stream has claimed."""


@sql_function(CONSUMER, method=False)
def claim_acknowledge(
    stream: Text, epoch: Identifier, seq: Identifier, token: Text
) -> ClaimSettled:
    """Settle a claim, a part at a time."""


@sql_function(CONSUMER, method=False)
def claim_reset(stream: Text, epoch: Identifier, seq: Identifier) -> str:
    """Forget what was decided for the messages of a claim."""


@sql_function(CONSUMER, method=False)
def claim_release(stream: Text, epoch: Identifier, seq: Identifier) -> str:
    """Give back a claim that nobody has been given."""


@sql_function(READER, method=False)
def history_snapshot() -> Annotated[str, "pg_snapshot"]:
    """The present snapshot in positions of history."""

"""The history functions: read finished attempts part by part, confirm what was read, drop the old."""
# mypy: disable-error-code="empty-body"

from __future__ import annotations

from lonnymq.client.arguments import Count, Identifier, Name, Position
from lonnymq.client.describe import ADMIN, CONSUMER, READER, sql_function
from lonnymq.results import (
    ConfirmAnswer,
    ForgetAnswer,
    HistoryLag,
    HistoryPart,
    HistoryReader,
    HistoryResume,
    HistoryRow,
    Horizon,
)


@sql_function(READER)
def history_horizon(start: Position = 0, *, rows: Identifier = 10_000) -> Horizon:
    """How far a slice of about so many rows from `start` may reach."""


@sql_function(READER)
def history_read(start: Position = 0, *, upto: Position | None = None) -> list[HistoryRow]:
    """The finished attempts of a slice, the same whenever it is read."""


@sql_function(READER)
def history_cut(
    start: Position = 0, *, rows: Identifier = 100_000, parts: Count = 10
) -> list[HistoryPart]:
    """What is settled from `start` on, in parts of about so many rows for readers side by side."""


@sql_function(READER)
def history_lag(start: Position = 0, *, most: Identifier = 1_000_000) -> HistoryLag:
    """How far somebody is behind who has read up to `start`, and what holds the rest back."""


@sql_function(READER)
def history_resume(reader: Name, position: Position) -> HistoryResume:
    """Where a reader goes on that has read up to `position`, also after a failover or a restore."""


@sql_function(READER)
def history_reader_list() -> list[HistoryReader]:
    """Who reads history, and up to where; what one of them has not confirmed is kept."""


@sql_function(ADMIN)
def history_forget(reader: Name) -> ForgetAnswer:
    """Let a reader that will not come back keep nothing any more."""


@sql_function(CONSUMER)
def history_confirm(reader: Name, *, upto: Position) -> ConfirmAnswer:
    """Say how far a reader has come, so that the rest is kept for it."""


@sql_function(ADMIN)
def history_prune() -> int:
    """Drop history that is past its time and confirmed by every reader."""

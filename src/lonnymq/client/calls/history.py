"""The history functions: read finished attempts part by part, confirm what was read, drop the old."""

from __future__ import annotations

from lonnymq import results
from lonnymq.client.arguments import Count, Identifier, Name, Position
from lonnymq.client.describe import ADMIN, CONSUMER, READER, sql_function


@sql_function(READER)
def history_horizon(start: Position = 0, *, rows: Identifier = 10_000) -> results.Horizon:
    """Answer how far you can read from `start` for about `rows` finished attempts."""


@sql_function(READER)
def history_read(start: Position = 0, *, upto: Position | None = None) -> list[results.HistoryRow]:
    """Read the finished attempts from `start` up to `upto`. Each time you read the same attempts."""


@sql_function(READER)
def history_cut(
    start: Position = 0, *, rows: Identifier = 100_000, parts: Count = 10
) -> list[results.HistoryPart]:
    """Cut the history from `start` on into parts of about `rows` finished attempts, for parallel readers."""


@sql_function(READER)
def history_lag(start: Position = 0, *, most: Identifier = 1_000_000) -> results.HistoryLag:
    """Show how far a reader at position `start` is behind, and which transaction holds back the rest."""


@sql_function(READER)
def history_resume(reader: Name, position: Position) -> results.HistoryResume:
    """Answer where a reader at `position` continues, also after a failover or a restore."""


@sql_function(READER)
def history_reader_list() -> list[results.HistoryReader]:
    """List the readers of history. History that a reader has not confirmed is kept."""


@sql_function(ADMIN)
def history_forget(reader: Name) -> results.ForgetAnswer:
    """Forget a reader of history, so that no history is kept for the reader."""


@sql_function(CONSUMER)
def history_confirm(reader: Name, *, upto: Position) -> results.ConfirmAnswer:
    """Confirm that a reader has stored the history up to `upto`. Later history is kept for the reader."""


@sql_function(ADMIN)
def history_prune() -> int:
    """Drop history that is old enough and confirmed by every reader. Answer how many days were dropped."""

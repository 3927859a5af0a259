"""Builders of the history functions: read slice by slice, say what was read, drop the old."""

from __future__ import annotations

from lonnymq.calls import check
from lonnymq.calls.call import Call, Record, loads, scalar
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

HORIZON = Record(Horizon, upto=int, horizon=int)
PART = Record(HistoryPart, since=int, upto=int)
LAG = Record(HistoryLag, horizon=int, next_xid=int, first_xid=int)
RESUME = Record(HistoryResume, since=int)
READER = Record(HistoryReader, confirmed=int)
ROW = Record(HistoryRow, xid=int, headers=loads)


def history_horizon(schema: str, start: int, *, rows: int) -> Call[Horizon]:
    """How far a slice of about so many rows may reach."""
    values = (check.transaction_id("start", start), check.identifier("rows", rows))
    return HORIZON.call_one(schema, "history_horizon", "text::xid8 bigint", values)


def history_read(schema: str, start: int, *, upto: int | None) -> Call[list[HistoryRow]]:
    """The finished attempts of one slice, the same ones whenever it is read."""
    end = check.optional(check.transaction_id, "upto", upto)
    values = (check.transaction_id("start", start), end)
    return ROW.call(schema, "history_read", "text::xid8 text::xid8", values)


def history_cut(schema: str, start: int, *, rows: int, parts: int) -> Call[list[HistoryPart]]:
    """Parts of about so many rows, for readers side by side."""
    values = (
        check.transaction_id("start", start),
        check.identifier("rows", rows),
        check.count("parts", parts),
    )
    return PART.call(schema, "history_cut", "text::xid8 bigint integer", values)


def history_lag(schema: str, start: int, *, most: int) -> Call[HistoryLag]:
    """How far somebody is behind who has read up to `start`."""
    values = (check.transaction_id("start", start), check.identifier("most", most))
    return LAG.call_one(schema, "history_lag", "text::xid8 bigint", values)


def history_resume(schema: str, reader: str, position: int) -> Call[HistoryResume]:
    """Where a reader goes on that has read up to `position`."""
    values = (check.name("reader", reader), check.transaction_id("position", position))
    return RESUME.call_one(schema, "history_resume", "text text::xid8", values)


def history_reader_list(schema: str) -> Call[list[HistoryReader]]:
    """Who reads history, and up to where."""
    return READER.call(schema, "history_reader_list", "", ())


def history_forget(schema: str, reader: str) -> Call[ForgetAnswer]:
    """Let a reader that will not come back keep nothing any more."""
    return scalar(schema, "history_forget", "text", (check.name("reader", reader),))


def history_confirm(schema: str, reader: str, *, upto: int) -> Call[ConfirmAnswer]:
    """Say how far a reader has come."""
    values = (check.name("reader", reader), check.transaction_id("upto", upto))
    return scalar(schema, "history_confirm", "text text::xid8", values)


def history_prune(schema: str) -> Call[int]:
    """Drop what is past its time and confirmed by every reader."""
    return scalar(schema, "history_prune", "", ())

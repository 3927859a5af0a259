"""Builders of the history functions: read slice by slice, say what was read, drop the old."""

from __future__ import annotations

from lonnymq.calls import check
from lonnymq.calls.call import Call, Record, loads, scalar
from lonnymq.results import ConfirmAnswer, HistoryRow, Horizon

HORIZON = Record(Horizon, upto=int, horizon=int)
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


def history_confirm(schema: str, reader: str, *, upto: int) -> Call[ConfirmAnswer]:
    """Say how far a reader has come."""
    values = (check.name("reader", reader), check.transaction_id("upto", upto))
    return scalar(schema, "history_confirm", "text text::xid8", values)


def history_prune(schema: str) -> Call[int]:
    """Drop what is past its time and confirmed by every reader."""
    return scalar(schema, "history_prune", "", ())

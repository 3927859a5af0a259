"""The finished attempts, and those who read them."""

from __future__ import annotations

from lonnymq import calls
from lonnymq.methods.base import AsyncBase, Base
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


class HistoryMethods(Base):
    """The finished attempts, and those who read them."""

    def history_horizon(self, start: int = 0, *, rows: int = 10_000) -> Horizon:
        """How far a slice of about so many rows from `start` may reach."""
        return self._run(calls.history_horizon(self.schema, start, rows=rows))

    def history_read(self, start: int = 0, *, upto: int | None = None) -> list[HistoryRow]:
        """The finished attempts of a slice, the same whenever it is read."""
        return self._run(calls.history_read(self.schema, start, upto=upto))

    def history_cut(
        self, start: int = 0, *, rows: int = 100_000, parts: int = 10
    ) -> list[HistoryPart]:
        """What is settled from `start` on, in parts of about so many rows for readers side by side."""
        return self._run(calls.history_cut(self.schema, start, rows=rows, parts=parts))

    def history_lag(self, start: int = 0, *, most: int = 1_000_000) -> HistoryLag:
        """How far somebody is behind who has read up to `start`, and what holds the rest back."""
        return self._run(calls.history_lag(self.schema, start, most=most))

    def history_resume(self, reader: str, position: int) -> HistoryResume:
        """Where a reader goes on that has read up to `position`, also after a failover or a restore."""
        return self._run(calls.history_resume(self.schema, reader, position))

    def history_reader_list(self) -> list[HistoryReader]:
        """Who reads history, and up to where; what one of them has not confirmed is kept."""
        return self._run(calls.history_reader_list(self.schema))

    def history_forget(self, reader: str) -> ForgetAnswer:
        """Let a reader that will not come back keep nothing any more."""
        return self._run(calls.history_forget(self.schema, reader))

    def history_confirm(self, reader: str, *, upto: int) -> ConfirmAnswer:
        """Say how far a reader has come, so that the rest is kept for it."""
        return self._run(calls.history_confirm(self.schema, reader, upto=upto))

    def history_prune(self) -> int:
        """Drop history that is past its time and confirmed by every reader."""
        return self._run(calls.history_prune(self.schema))


class AsyncHistoryMethods(AsyncBase):
    """The finished attempts, and those who read them."""

    async def history_horizon(self, start: int = 0, *, rows: int = 10_000) -> Horizon:
        """How far a slice of about so many rows from `start` may reach."""
        return await self._run(calls.history_horizon(self.schema, start, rows=rows))

    async def history_read(self, start: int = 0, *, upto: int | None = None) -> list[HistoryRow]:
        """The finished attempts of a slice, the same whenever it is read."""
        return await self._run(calls.history_read(self.schema, start, upto=upto))

    async def history_cut(
        self, start: int = 0, *, rows: int = 100_000, parts: int = 10
    ) -> list[HistoryPart]:
        """What is settled from `start` on, in parts of about so many rows for readers side by side."""
        return await self._run(calls.history_cut(self.schema, start, rows=rows, parts=parts))

    async def history_lag(self, start: int = 0, *, most: int = 1_000_000) -> HistoryLag:
        """How far somebody is behind who has read up to `start`, and what holds the rest back."""
        return await self._run(calls.history_lag(self.schema, start, most=most))

    async def history_resume(self, reader: str, position: int) -> HistoryResume:
        """Where a reader goes on that has read up to `position`, also after a failover or a restore."""
        return await self._run(calls.history_resume(self.schema, reader, position))

    async def history_reader_list(self) -> list[HistoryReader]:
        """Who reads history, and up to where; what one of them has not confirmed is kept."""
        return await self._run(calls.history_reader_list(self.schema))

    async def history_forget(self, reader: str) -> ForgetAnswer:
        """Let a reader that will not come back keep nothing any more."""
        return await self._run(calls.history_forget(self.schema, reader))

    async def history_confirm(self, reader: str, *, upto: int) -> ConfirmAnswer:
        """Say how far a reader has come, so that the rest is kept for it."""
        return await self._run(calls.history_confirm(self.schema, reader, upto=upto))

    async def history_prune(self) -> int:
        """Drop history that is past its time and confirmed by every reader."""
        return await self._run(calls.history_prune(self.schema))

"""A connection of ADBC's, whose rows are Arrow.

Its DB-API is left alone: that imports pandas, which takes each Python worker that Spark starts a third of a second.
"""

from __future__ import annotations

from typing import Any

import adbc_driver_postgresql
import pyarrow as pa
from adbc_driver_manager import AdbcConnection, AdbcStatement, Error

__all__ = ["Connection", "Error"]


class Connection:
    """A connection that commits by itself, and the one statement that it has under way."""

    def __init__(self, address: str) -> None:
        self.statement: Any = None
        self.rows: pa.RecordBatchReader | None = None
        self.database: Any = adbc_driver_postgresql.connect(address)
        try:
            self.connection: Any = AdbcConnection(self.database)
        except BaseException:
            self.database.close()
            raise

    def begin(self) -> None:
        """Begin a transaction; raises if the server is gone.

        A statement on a connection that is gone would end this process: drivers below 1.9 build a text of nothing. So
        what may have broken meanwhile is asked by this call, and by `commit`, which tell of it.
        """
        self.clear()
        self.connection.set_autocommit(False)

    def commit(self) -> None:
        """End the transaction."""
        self.clear()
        self.connection.set_autocommit(True)

    def execute(self, statement: str) -> pa.RecordBatchReader:
        """Run a statement; what it gives is read before the next one is run."""
        self.clear()
        self.statement = AdbcStatement(self.connection)
        self.statement.set_sql_query(statement)
        handle, _ = self.statement.execute_query()
        self.rows = pa.RecordBatchReader.from_stream(handle)
        return self.rows

    def clear(self) -> None:
        """Let go of the statement and of what is left of its rows."""
        rows, statement = self.rows, self.statement
        self.rows = self.statement = None
        if rows is not None:
            rows.close()
        if statement is not None:
            statement.close()

    def close(self) -> None:
        """Let go of the connection."""
        self.clear()
        self.connection.close()
        self.database.close()

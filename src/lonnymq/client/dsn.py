"""DSNs: reads the common spellings, adds the defaults of lasting connections, and names a database without secrets."""

from __future__ import annotations

import os
import re
from typing import Any

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from lonnymq.errors import BadDsn

DRIVER = re.compile(r"(postgres(?:ql)?)\+\w+(?=://)")  # SQLAlchemy's postgresql+psycopg://
DEFAULTS: dict[str, str | int] = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}
SEVERAL_HOSTS = {"target_session_attrs": "read-write"}
VARIABLES = {
    "application_name": "PGAPPNAME",
    "connect_timeout": "PGCONNECT_TIMEOUT",
    "target_session_attrs": "PGTARGETSESSIONATTRS",
}


def read_dsn(dsn: str) -> dict[str, Any]:
    """Read a DSN. An unreadable DSN may hold a password, so the error does not quote the DSN."""
    try:
        return conninfo_to_dict(DRIVER.sub(r"\1", dsn, count=1))
    except ProgrammingError:
        raise BadDsn(
            "cannot read the DSN: write postgresql://user@host/database or host=… dbname=…. "
            "In a URL, write the characters % : / @ # of a password as %25 %3A %2F %40 %23"
        ) from None


def complete_dsn(dsn: str, **defaults: str | int) -> str:
    """Add defaults to a DSN. The DSN's own parameters and the variables of libpq come first."""
    given = read_dsn(dsn)
    added = {**DEFAULTS, **defaults}
    if "," in str(given.get("host") or os.environ.get("PGHOST") or given.get("hostaddr") or ""):
        added = {**SEVERAL_HOSTS, **added}
    missing = {
        key: value
        for key, value in added.items()
        if key not in given and VARIABLES.get(key, "") not in os.environ
    }
    return make_conninfo("", **given, **missing)


def describe_dsn(dsn: str) -> tuple[str, str]:
    """Return the host and the database of a DSN for people, without user and password."""
    given = read_dsn(dsn)
    host = str(given.get("host") or given.get("hostaddr") or os.environ.get("PGHOST") or "")
    port = str(given.get("port") or os.environ.get("PGPORT") or "")
    database = str(given.get("dbname") or os.environ.get("PGDATABASE") or given.get("user") or "")
    where = host or "the local server"
    return (f"{where}:{port}" if port and not where.startswith("/") else where), database

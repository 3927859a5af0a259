"""The address of a database as an option gives it, made ready for libpq; no error shows its password."""

from __future__ import annotations

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict, make_conninfo

PREFIXES = ("postgresql://", "postgres://")


def address_of(url: str, *, user: str | None = None, password: str | None = None) -> str:
    """The url, with a user and a password if they are given apart from it."""
    if url.startswith("jdbc:"):
        raise ValueError("is written without jdbc: here, as postgresql://user@host/database")
    if not url.startswith(PREFIXES) and "=" not in url:
        raise ValueError("must be like postgresql://user@host/database")
    try:
        conninfo_to_dict(url)
    except ProgrammingError:  # whose text may quote the part with the password
        raise ValueError(
            "cannot be read: in postgresql://user:password@host/database, "
            "characters such as % : / @ # are written as %25 %3A %2F %40 %23"
        ) from None
    apart = {key: value for key, value in (("user", user), ("password", password)) if value}
    return make_conninfo(url, **apart) if apart else url

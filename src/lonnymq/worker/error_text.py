"""Text that may be kept: an error with its traceback, cut and cleaned; a complaint without the password."""

from __future__ import annotations

import traceback
from types import TracebackType
from urllib.parse import unquote

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from lonnymq.errors import InvalidArgument

MOST_BYTES = 8192
MOST_FRAMES = 20
HEAD_BYTES = 1024
CUT = "\n… {} bytes cut …\n"


def error_text(error: BaseException, *, most: int = MOST_BYTES) -> str:
    """The traceback from the handler on, the last line of which says what went wrong."""
    try:
        text = "".join(
            traceback.format_exception(
                type(error),
                error,
                beyond_ours(error.__traceback__) or error.__traceback__,
                limit=-MOST_FRAMES,
            )
        )
    except Exception as broken:  # an exception that cannot be shown: any failure must be reportable
        text = f"{type(error).__name__} (showing it failed: {type(broken).__name__})"
    return cut(clean(text.rstrip("\n")), most)


def beyond_ours(trace: TracebackType | None) -> TracebackType | None:
    """The traceback without the frames of this package that lead to the handler."""
    ours = __name__.rpartition(".")[0]
    while trace is not None and trace.tb_frame.f_globals.get("__name__", "").startswith(ours):
        trace = trace.tb_next
    return trace


def clean(text: str) -> str:
    """The text as PostgreSQL can store it: no NUL, no lone surrogates."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()


def cut(text: str, most: int) -> str:
    """The text with its middle left out where it is too long: how it begins, and how it ends."""
    data = text.encode()
    if len(data) <= most:
        return text
    tail = most - HEAD_BYTES - len(CUT) - 20
    head, end = data[:HEAD_BYTES], data[-tail:]
    left_out = CUT.format(len(data) - HEAD_BYTES - tail)
    return head.decode(errors="ignore") + left_out + end.decode(errors="ignore")


def where(error: BaseException) -> str:
    """The kind of an error and the line that raised it, without its words: those may quote a payload."""
    frames = traceback.extract_tb(beyond_ours(error.__traceback__))
    place = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{place}"


def with_defaults(dsn: str, **defaults: str | int) -> str:
    """The DSN with what it does not say itself; one that cannot be read is not quoted."""
    try:
        said = conninfo_to_dict(dsn)
    except ProgrammingError:
        raise InvalidArgument(
            "the DSN cannot be read: write postgresql://user@host/database or host=… dbname=…"
        ) from None
    return make_conninfo(dsn, **{key: value for key, value in defaults.items() if key not in said})


def without_password(text: str, dsn: str) -> str:
    """The text without the DSN or the password that is in it."""
    password = str(conninfo_to_dict(dsn).get("password") or "")
    for secret in (dsn, password, unquote(password)):
        text = text.replace(secret, "…") if secret else text
    return text.strip()

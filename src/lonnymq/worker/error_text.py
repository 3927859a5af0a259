"""Error texts that are safe to store and to log: cut, cleaned, without payloads and without passwords."""

from __future__ import annotations

import traceback
from types import TracebackType
from urllib.parse import unquote

from psycopg.conninfo import conninfo_to_dict

MAX_BYTES = 8192
MAX_FRAMES = 20
HEAD_BYTES = 1024
CUT_MARK = "\n… {} bytes cut …\n"


def format_error(error: BaseException, *, max_bytes: int = MAX_BYTES) -> str:
    """Format the traceback from the handler on. The last line says what went wrong."""
    try:
        text = "".join(
            traceback.format_exception(
                type(error),
                error,
                skip_own_frames(error.__traceback__) or error.__traceback__,
                limit=-MAX_FRAMES,
            )
        )
    except Exception as broken:  # an exception whose text raises: any failure must be reportable
        text = f"{type(error).__name__} (formatting the error failed: {type(broken).__name__})"
    return cut_middle(make_storable(text.rstrip("\n")), max_bytes)


def skip_own_frames(trace: TracebackType | None) -> TracebackType | None:
    """Skip the frames of this package that lead to the handler."""
    package = __name__.rpartition(".")[0]
    while trace is not None and trace.tb_frame.f_globals.get("__name__", "").startswith(package):
        trace = trace.tb_next
    return trace


def make_storable(text: str) -> str:
    """Replace what PostgreSQL cannot store: NUL and lone surrogates."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()


def cut_middle(text: str, max_bytes: int) -> str:
    """Leave out the middle of a text that is too long."""
    data = text.encode()
    if len(data) <= max_bytes:
        return text
    tail = max_bytes - HEAD_BYTES - len(CUT_MARK) - 20
    head, end = data[:HEAD_BYTES], data[-tail:]
    mark = CUT_MARK.format(len(data) - HEAD_BYTES - tail)
    return head.decode(errors="ignore") + mark + end.decode(errors="ignore")


def format_text(error: BaseException) -> str:
    """Return an error's own words, on a line."""
    try:
        text = " ".join(str(error).split())
    except Exception as broken:  # an exception whose text raises
        text = f"formatting the error failed: {type(broken).__name__}"
    return cut_middle(make_storable(text), MAX_BYTES)


def locate_error(error: BaseException) -> str:
    """Name an error's type and the line that raised it. The error's own words may quote a payload."""
    frames = traceback.extract_tb(skip_own_frames(error.__traceback__))
    place = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{place}"


def hide_password(text: str, dsn: str) -> str:
    """Remove the DSN and the DSN's password from a text."""
    password = str(conninfo_to_dict(dsn).get("password") or "")
    for secret in (dsn, password, unquote(password)):
        text = text.replace(secret, "…") if secret else text
    return text.strip()

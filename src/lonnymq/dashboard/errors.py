"""What the page cannot do, as an answer: a code for programs, a sentence for people, and what to do about it."""

from __future__ import annotations

from typing import Any

from starlette.responses import JSONResponse

STATUS = {
    "unauthorized": 401,
    "forbidden": 403,
    "not_found": 404,
    "method_not_allowed": 405,
    "conflict": 409,
    "too_large": 413,
    "unsupported": 415,
    "invalid": 422,
    "internal": 500,
    "unavailable": 503,
    "not_installed": 503,
}


class Problem(Exception):
    """A request that cannot be answered as it was meant."""

    def __init__(self, code: str, message: str, *, advice: str | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.advice = code, message, advice

    @property
    def document(self) -> dict[str, Any]:
        """What the answer says."""
        return {"error": {"code": self.code, "message": self.message, "advice": self.advice}}

    def response(self) -> JSONResponse:
        """The answer."""
        headers = {"WWW-Authenticate": "Bearer"} if self.code == "unauthorized" else None
        return JSONResponse(self.document, status_code=STATUS[self.code], headers=headers)


def not_found(what: str, advice: str | None = None) -> Problem:
    """There is no such thing."""
    return Problem("not_found", what, advice=advice)


def invalid(message: str) -> Problem:
    """A parameter is not allowed."""
    return Problem("invalid", message)

"""Errors of the API: a code for programs, a message for people, and advice on what to do next."""

from __future__ import annotations

from typing import Any

from starlette.responses import JSONResponse

STATUS = {
    "unauthorized": 401,
    "forbidden": 403,
    "not_found": 404,
    "method_not_allowed": 405,
    "too_slow": 408,
    "conflict": 409,
    "too_large": 413,
    "unsupported": 415,
    "invalid": 422,
    "too_many": 429,
    "internal": 500,
    "unavailable": 503,
    "not_installed": 503,
}


class ApiError(Exception):
    """The API cannot do what you asked for. The message says why, and the advice says what to do next."""

    def __init__(self, code: str, message: str, *, advice: str | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.advice = code, message, advice

    @property
    def document(self) -> dict[str, Any]:
        """The error as JSON."""
        return {"error": {"code": self.code, "message": self.message, "advice": self.advice}}

    def response(self) -> JSONResponse:
        """The error as an HTTP response."""
        headers = {"WWW-Authenticate": "Bearer"} if self.code == "unauthorized" else None
        return JSONResponse(self.document, status_code=STATUS[self.code], headers=headers)


def not_found(message: str, advice: str | None = None) -> ApiError:
    """The error for a thing that does not exist."""
    return ApiError("not_found", message, advice=advice)


def invalid(message: str) -> ApiError:
    """The error for a value that is not allowed."""
    return ApiError("invalid", message)

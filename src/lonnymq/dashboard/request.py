"""Requests, checked before anything uses them: JSON bodies, query parameters, and cursors of paged lists."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta
from starlette.requests import Request

from lonnymq.dashboard.errors import ApiError, invalid

MAX_BODY_BYTES = 64 * 1024
BODY_SECONDS = 15.0
MAX_TEXT_LENGTH = 1024
MAX_ID = 2**63 - 1
MIN_ID = -MAX_ID
MAX_TIME = 10**14  # epoch milliseconds
NO_NUL = "^[^\\u0000]*$"

Text = Annotated[str, Meta(pattern=NO_NUL)]
# Digits: an id may be larger than a number of JavaScript.
MessageId = Annotated[str, Meta(pattern="^[0-9]{1,19}$")] | Annotated[int, Meta(ge=0, le=MAX_ID)]


class Body(msgspec.Struct, forbid_unknown_fields=True):
    """The JSON object of a request."""


SomeBody = TypeVar("SomeBody", bound=Body)


async def read_body(request: Request, kind: type[SomeBody]) -> SomeBody:
    """Read the JSON object of a request."""
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != "application/json":
        raise ApiError("unsupported", "Send JSON, with Content-Type: application/json.")
    try:
        async with asyncio.timeout(BODY_SECONDS):
            data = await read_bytes(request)
    except TimeoutError:
        raise ApiError("too_slow", f"The body did not arrive within {BODY_SECONDS:g} s.") from None
    try:
        return msgspec.json.decode(data, type=kind)
    except (ValueError, RecursionError) as error:
        raise invalid(f"The body is not allowed: {error}.") from None


async def read_bytes(request: Request) -> bytes:
    """The body of a request, up to the maximum size."""
    data = b""
    async for part in request.stream():
        data += part
        if len(data) > MAX_BODY_BYTES:
            raise ApiError("too_large", f"The maximum size of a request is {MAX_BODY_BYTES} bytes.")
    return data


def check_text(value: str, name: str) -> str:
    """Reject a text that PostgreSQL cannot store: with a NUL, or with half of a surrogate pair."""
    if "\0" in value or any("\ud800" <= each <= "\udfff" for each in value):
        raise invalid(f"'{name}' contains a character that PostgreSQL cannot store.")
    return value


def parse_id(value: str | int, name: str = "id") -> int:
    """Read the id of a message, which is sent as digits in a string."""
    text = str(value)
    if not text.isascii() or not text.isdigit():
        raise invalid(f"'{name}' must consist of digits.")
    if len(text) > 19 or int(text) > MAX_ID:
        raise invalid(f"'{name}' is too large: the maximum is {MAX_ID}.")
    return int(text)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a query or a path: requests are read with it, and OpenAPI describes it."""

    name: str
    about: str
    required: bool = False
    default: Any = None
    choices: tuple[str, ...] = ()
    minimum: int | None = None
    maximum: int | None = None
    location: str = "query"
    pattern: str = NO_NUL

    def read(self, request: Request) -> Any:
        """Read and check the value that a request gives to the parameter."""
        given = request.path_params if self.location == "path" else request.query_params
        value = given.get(self.name)
        if value is None or (value == "" and not self.required):
            if self.required:
                raise invalid(f"The parameter '{self.name}' is missing.")
            return self.default
        return self.parse(value)

    def parse(self, value: str) -> Any:
        """Check a value and convert it."""
        if self.name == "id":
            return parse_id(value)
        if self.choices and value not in self.choices:
            raise invalid(f"'{self.name}' must be one of: {', '.join(self.choices)}.")
        if self.maximum is not None:
            return self.parse_number(value)
        if len(value) > MAX_TEXT_LENGTH:
            raise invalid(
                f"'{self.name}' is too long: the maximum is {MAX_TEXT_LENGTH} characters."
            )
        return check_text(value, self.name)

    def parse_number(self, value: str) -> int:
        """Convert a whole number within the bounds."""
        digits = value.isascii() and value.isdigit() and len(value) < 16
        if not digits or not (self.minimum or 0) <= int(value) <= (self.maximum or 0):
            raise invalid(
                f"'{self.name}' must be a whole number from {self.minimum} to {self.maximum}."
            )
        return int(value)

    def to_openapi(self) -> dict[str, Any]:
        """Describe the parameter in OpenAPI."""
        schema: dict[str, Any] = {
            "type": "string",
            "maxLength": MAX_TEXT_LENGTH,
            "pattern": self.pattern,
        }
        if self.choices:
            schema = {"type": "string", "enum": list(self.choices)}
        elif self.maximum is not None:
            schema = {"type": "integer", "minimum": self.minimum, "maximum": self.maximum}
        if self.default is not None:
            schema["default"] = self.default
        return {
            "name": self.name,
            "in": self.location,
            "required": self.required,
            "description": self.about,
            "schema": schema,
        }


QUEUE = Parameter(
    "queue", "The key of the queue, from api/session.", required=True, location="path",
    pattern="^[A-Za-z0-9_.-]{1,64}$",
)  # fmt: skip
ID = Parameter(
    "id", "The id of the message.", required=True, location="path", pattern="^[0-9]{1,18}$"
)
CURSOR = Parameter("cursor", "The `next` of the previous page.")
LIMIT = Parameter("limit", "The maximum number of rows.", default=50, minimum=1, maximum=200)


def encode_cursor(*parts: Any) -> str:
    """Encode the position at which a page of a list ends."""
    text = json.dumps(parts, separators=(",", ":"))
    return encode_base64(text.encode())


def encode_base64(data: bytes) -> str:
    """Bytes as text for a URL or a cookie."""
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def decode_base64(text: str) -> bytes:
    """The bytes of such a text. Other texts raise a ValueError."""
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


def decode_cursor(
    cursor: str | None, first: tuple[Any, ...], *types: Callable[..., Any]
) -> list[Any]:
    """Decode a cursor whose parts have these types. Without a cursor the list starts at `first`."""
    if cursor is None:
        return list(first)
    try:
        parts = json.loads(decode_base64(cursor))
    except (ValueError, RecursionError):
        raise invalid("The cursor is not valid.") from None
    if not isinstance(parts, list) or [type(each) for each in parts] != list(types):
        raise cursor_error()
    for each in parts:
        if isinstance(each, str):
            check_text(each, "cursor")
        elif not MIN_ID <= each <= MAX_ID:
            raise cursor_error()
    return parts


def cursor_error() -> ApiError:
    """The error for a cursor of another list."""
    return invalid("The cursor belongs to another list.")

"""What may be asked in a query, said once: read from here when a request comes, and described from here in OpenAPI."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from starlette.requests import Request

from lonnymq.dashboard.bodies import id_from, storable
from lonnymq.dashboard.problems import invalid

NO_NUL = "^[^\\u0000]*$"
LONGEST = 1024


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a query or a path."""

    name: str
    about: str
    required: bool = False
    default: Any = None
    words: tuple[str, ...] = ()
    least: int | None = None
    most: int | None = None
    place: str = "query"
    pattern: str = NO_NUL

    def read(self, request: Request) -> Any:
        """The value that a request gives it, checked."""
        given = request.path_params if self.place == "path" else request.query_params
        value = given.get(self.name)
        if value is None or (value == "" and not self.required):
            if self.required:
                raise invalid(f"'{self.name}' is missing.")
            return self.default
        return self.checked(value)

    def checked(self, value: str) -> Any:
        """A value that is allowed, as what it means."""
        if self.name == "id":
            return id_from(value)
        if self.words and value not in self.words:
            raise invalid(f"'{self.name}' is one of {', '.join(self.words)}.")
        if self.most is not None:
            return self.number(value)
        if len(value) > LONGEST:
            raise invalid(f"'{self.name}' has at most {LONGEST} characters.")
        return storable(value, self.name)

    def number(self, value: str) -> int:
        """A whole number within its bounds."""
        digits = value.isascii() and value.isdigit() and len(value) < 10
        if not digits or not (self.least or 0) <= int(value) <= (self.most or 0):
            raise invalid(f"'{self.name}' is a whole number from {self.least} to {self.most}.")
        return int(value)

    def described(self) -> dict[str, Any]:
        """The parameter in OpenAPI."""
        schema: dict[str, Any] = {"type": "string", "maxLength": LONGEST, "pattern": self.pattern}
        if self.words:
            schema = {"type": "string", "enum": list(self.words)}
        elif self.most is not None:
            schema = {"type": "integer", "minimum": self.least, "maximum": self.most}
        if self.default is not None:
            schema["default"] = self.default
        return {
            "name": self.name,
            "in": self.place,
            "required": self.required,
            "description": self.about,
            "schema": schema,
        }


QUEUE = Parameter(
    "queue", "The queue's key, from api/session.", required=True, place="path",
    pattern="^[A-Za-z0-9_.-]{1,64}$",
)  # fmt: skip
ID = Parameter("id", "The message's id.", required=True, place="path", pattern="^[0-9]{1,18}$")
CURSOR = Parameter("cursor", "Where the page before ended: its `next`.")
LIMIT = Parameter("limit", "So many at most.", default=50, least=1, most=200)

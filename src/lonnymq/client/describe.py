"""Descriptions of the public SQL functions: builders, methods, grants and the reference page come from them.

A description is a Python function without a body: its name is that of the SQL function, its parameters are the
arguments in the order of SQL, its return type is what a row or the rows become, its docstring is that of the method.

    @sql_function(ADMIN)
    def channel_pause(channel: Name) -> PauseAnswer:
        '''Stop handing out a channel's messages.'''

The decorator makes the builder of it: `channel_pause(schema, "acme")` is a `Call`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from functools import cached_property, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, cast, get_args, get_origin, get_type_hints

from lonnymq.client.arguments import Argument
from lonnymq.client.call import Call, Record, Row, converter_of, decode_value, statement

P = ParamSpec("P")
Answer = TypeVar("Answer")
Roles = tuple[str, ...]
Parse = Callable[[Sequence[Row]], Any]
UNNAMED = (
    "message_",
    "queue_",
)  # a method of a queue need not say that it is about messages or the queue

NOBODY: Roles = ()
ADMIN: Roles = ("admin",)
PRODUCER: Roles = ("producer", "admin")
CONSUMER: Roles = ("consumer", "admin")
VIEWER: Roles = ("viewer", "admin")
READER: Roles = ("consumer", "viewer", "admin")
EVERYBODY: Roles = ("producer", "consumer", "viewer", "admin")


@dataclass(frozen=True)
class Description:
    """One form of a public SQL function, and its builder."""

    name: str
    function: str  # as SQL names it: two forms, for one and for many, share a name there
    roles: Roles
    runs_as: str
    has_method: bool
    takes_using: bool
    written: Callable[..., Any]
    is_builder: bool

    @cached_property
    def method(self) -> str:
        """The name of the method of a queue."""
        found = (self.name.removeprefix(each) for each in UNNAMED if self.name.startswith(each))
        return next(found, self.name)

    @cached_property
    def parameters(self) -> list[inspect.Parameter]:
        """What a caller gives, apart from the schema."""
        return list(inspect.signature(self.written).parameters.values())[self.is_builder :]


DESCRIPTIONS: dict[str, Description] = {}


def sql_function(
    roles: Roles,
    *,
    function: str | None = None,
    method: bool = True,
    using: bool = False,
    runs_as: str = "owner",
) -> Callable[[Callable[P, Answer]], Callable[Concatenate[str, P], Call[Answer]]]:
    """Describe a SQL function that these roles may execute, and make its builder.

    `method=False`: a queue has no method for it. `using=True`: the method can join the caller's transaction.
    """

    def decorate(stub: Callable[P, Answer]) -> Callable[Concatenate[str, P], Call[Answer]]:
        name = stub.__name__
        DESCRIPTIONS[name] = Description(
            name, function or name, roles, runs_as, method, using, stub, is_builder=False
        )
        return make_builder(function or name, stub)

    return decorate


def sql_builder(
    roles: Roles, *, function: str | None = None, method: bool = True, using: bool = False
) -> Callable[[Callable[P, Call[Answer]]], Callable[P, Call[Answer]]]:
    """Describe a SQL function whose builder is written by hand, where values or rows are more than their types say."""

    def decorate(builder: Callable[P, Call[Answer]]) -> Callable[P, Call[Answer]]:
        name = builder.__name__
        DESCRIPTIONS[name] = Description(
            name, function or name, roles, "owner", method, using, builder, is_builder=True
        )
        return builder

    return decorate


def make_builder(
    function: str, stub: Callable[P, Answer]
) -> Callable[Concatenate[str, P], Call[Answer]]:
    """The builder of a description; what its types say is read when it is first called."""
    plan = Plan(function, stub)

    @wraps(stub)
    def build(schema: str, *args: P.args, **named: P.kwargs) -> Call[Answer]:
        given = {**plan.defaults, **dict(zip(plan.names, args, strict=False)), **named}
        if len(given) != len(plan.names) or len(args) > len(plan.names):
            plan.signature.bind(*args, **named)  # raises and says which
        return Call(
            statement(schema, function, plan.types, plan.columns), plan.check(given), plan.parse
        )

    return cast("Callable[Concatenate[str, P], Call[Answer]]", build)


class Plan:
    """What the types of a description say: the SQL types, the checks of the values, and how to decode the rows."""

    def __init__(self, function: str, stub: Callable[..., Any]) -> None:
        self.function, self.stub = function, stub

    @cached_property
    def signature(self) -> inspect.Signature:
        """The parameters, as Python has them."""
        return inspect.signature(self.stub)

    @cached_property
    def names(self) -> list[str]:
        """The names of the parameters."""
        return list(self.signature.parameters)

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """The parameters that may be left out."""
        found = self.signature.parameters.values()
        return {each.name: each.default for each in found if each.default is not each.empty}

    @cached_property
    def hints(self) -> Mapping[str, Any]:
        """The types, as objects."""
        return get_type_hints(self.stub, include_extras=True)

    @cached_property
    def arguments(self) -> list[tuple[str, bool, Argument]]:
        """Each parameter: its name, whether it may be None, and how it is handed over."""
        return [(name, *argument_of(self.hints[name])) for name in self.names]

    @cached_property
    def types(self) -> str:
        """The SQL types of the placeholders."""
        return " ".join(each.sql for _, _, each in self.arguments)

    @cached_property
    def checks(self) -> list[tuple[str, bool, Callable[[str, Any], Any], bool]]:
        """The same for `check`, which is called each time; the last says whether it answers several values."""
        return [(name, may, each.check, " " in each.sql) for name, may, each in self.arguments]

    def check(self, given: Mapping[str, Any]) -> tuple[Any, ...]:
        """The values to send."""
        values: list[Any] = []
        for name, may_be_none, check, is_several in self.checks:
            value = given[name]
            if value is None and may_be_none:
                values.append(None)
            elif is_several:
                values.extend(check(name, value))
            else:
                values.append(check(name, value))
        return tuple(values)

    @cached_property
    def columns(self) -> str:
        """What to select."""
        return self.decoding[0]

    @cached_property
    def parse(self) -> Parse:
        """What makes an answer of the rows."""
        return self.decoding[1]

    @cached_property
    def decoding(self) -> tuple[str, Parse]:
        """What to select, and what makes an answer of it, by the return type."""
        answer = self.hints["return"]
        if answer is type(None):
            return "null", lambda _: None
        if get_origin(answer) is list:
            (row,) = get_args(answer)
            if is_dataclass(row):
                record = Record(cast("Callable[..., Any]", row))
                return record.columns, record.decode_all
            return "r", lambda rows: [each[0] for each in rows]
        if is_dataclass(answer):
            record = Record(cast("Callable[..., Any]", answer))
            return record.columns, record.decode_one
        convert = converter_of(answer)
        return (
            ("r", decode_value)
            if convert is None
            else ("r::text", lambda rows: convert(rows[0][0]))
        )


def argument_of(annotation: Any) -> tuple[bool, Argument]:
    """Whether an argument may be None, and how it is handed over."""
    for each in (annotation, *get_args(annotation)):
        for mark in getattr(each, "__metadata__", ()):
            if isinstance(mark, Argument):
                return type(None) in get_args(annotation), mark
    raise TypeError(f"{annotation} is not a type of lonnymq.client.arguments")

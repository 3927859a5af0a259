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
    def build(schema: str, *given: P.args, **named: P.kwargs) -> Call[Answer]:
        call: Call[Answer] = plan.build(schema, *given, **named)
        return call

    return cast("Callable[Concatenate[str, P], Call[Answer]]", build)


class Plan:
    """What the types of a description say: the SQL types, the checks of the values, and how to decode the rows."""

    def __init__(self, function: str, stub: Callable[..., Any]) -> None:
        self.function, self.stub = function, stub

    @cached_property
    def hints(self) -> Mapping[str, Any]:
        """The types, as objects."""
        return get_type_hints(self.stub, include_extras=True)

    @cached_property
    def arguments(self) -> list[tuple[str, bool, Argument]]:
        """Each parameter: its name, whether it may be None, and how it is handed over."""
        return [
            (name, *argument_of(self.hints[name]))
            for name in inspect.signature(self.stub).parameters
        ]

    @cached_property
    def build(self) -> Callable[..., Call[Any]]:
        """The builder, compiled: it costs a call no more than one that is written by hand."""
        known = inspect.signature(self.stub).parameters.values()
        plain = [each.replace(annotation=each.empty, default=each.empty) for each in known]
        schema = inspect.Parameter("schema", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        values = "".join(f"{value_text(*each)}, " for each in self.arguments)
        source = f"def build{inspect.Signature([schema, *plain])}: return _call(schema, ({values}))"
        names: dict[str, Any] = {f"_{name}": each.check for name, _, each in self.arguments}
        names["_call"] = self.make_call()
        exec(source, names)  # noqa: S102 - its only words are the parameters of descriptions
        build = names["build"]
        build.__defaults__, build.__kwdefaults__ = self.stub.__defaults__, self.stub.__kwdefaults__
        return cast("Callable[..., Call[Any]]", build)

    def make_call(self) -> Callable[[str, tuple[Any, ...]], Call[Any]]:
        """What makes a call of checked values."""
        function, types = self.function, " ".join(each.sql for _, _, each in self.arguments)
        columns, parse = self.decoding
        return lambda schema, values: Call(
            statement(schema, function, types, columns), values, parse
        )

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
        if convert is None:
            return "r", decode_value
        return "r::text", lambda rows: convert(rows[0][0])


def value_text(name: str, may_be_none: bool, argument: Argument) -> str:
    """The value of an argument, as Python is written."""
    checked = f"_{name}({name!r}, {name})"
    if " " in argument.sql:
        return f"*{checked}"
    return f"None if {name} is None else {checked}" if may_be_none else checked


def argument_of(annotation: Any) -> tuple[bool, Argument]:
    """Whether an argument may be None, and how it is handed over."""
    for each in (annotation, *get_args(annotation)):
        for mark in getattr(each, "__metadata__", ()):
            if isinstance(mark, Argument):
                return type(None) in get_args(annotation), mark
    raise TypeError(f"{annotation} is not a type of lonnymq.client.arguments")

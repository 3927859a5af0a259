"""From a message's bytes to the type that a handler's annotation names; what does not fit is said in words."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, get_args

import msgspec

from lonnymq.errors import InvalidArgument

Decode = Callable[[bytes], Any]


class Unfit(Exception):
    """A payload is not what the handler takes; the text says why."""


def decoder(annotation: Any) -> Decode:
    """What reads a payload of this type: bytes as they are, text as UTF-8, all else as JSON."""
    if annotation in (bytes, None):
        return bytes
    if annotation is str:
        return read_text
    if any(map(is_pydantic, parts(annotation))):
        return by_pydantic(annotation)
    return by_msgspec(annotation)


def read_text(content: bytes) -> str:
    """UTF-8."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise Unfit(f"the payload is not UTF-8: {error.reason} at byte {error.start}") from None


def by_msgspec(annotation: Any) -> Decode:
    """JSON read by msgspec: dict, list, Any, dataclass, TypedDict, NamedTuple, Struct and what is made of them."""
    try:
        custom = any(is_custom(each) for each in parts(annotation) if isinstance(each, type))
        read = msgspec.json.Decoder(annotation).decode
    except (TypeError, NameError) as error:
        raise InvalidArgument(f"no payload can be read as {shown(annotation)}: {error}") from error
    if custom:
        raise InvalidArgument(
            f"no payload can be read as {shown(annotation)}: annotate bytes, str, a JSON type, a dataclass, "
            "a TypedDict, a msgspec Struct or a pydantic model"
        )

    def decode(content: bytes) -> Any:
        try:
            return read(content)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise Unfit(f"the payload is no {shown(annotation)}: {error}") from None

    return decode


def by_pydantic(annotation: Any) -> Decode:
    """JSON read by pydantic, which whoever annotates with a model of it has imported."""
    pydantic = sys.modules["pydantic"]
    read = pydantic.TypeAdapter(annotation).validate_json

    def decode(content: bytes) -> Any:
        try:
            return read(content)
        except pydantic.ValidationError as error:
            said = "; ".join(
                f"{each['msg']} at {'.'.join(map(str, each['loc'])) or 'the top'}"
                for each in error.errors(include_url=False, include_input=False)
            )
            raise Unfit(f"the payload is no {shown(annotation)}: {said}") from None

    return decode


def is_custom(annotation: type) -> bool:
    """Whether msgspec knows nothing of this type."""
    return isinstance(msgspec.inspect.type_info(annotation), msgspec.inspect.CustomType)


def is_pydantic(annotation: Any) -> bool:
    """Whether pydantic made this type."""
    return "pydantic" in sys.modules and hasattr(annotation, "__pydantic_validator__")


def parts(annotation: Any) -> Iterator[Any]:
    """The annotation, and all that it is made of."""
    yield annotation
    for each in get_args(annotation):
        yield from parts(each)


def shown(annotation: Any) -> str:
    """A type as people write it."""
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)

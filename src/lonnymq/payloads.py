"""Payloads as types: how bytes become the type that a handler or a task names, and how a value becomes bytes.

Bytes stay unchanged, text is UTF-8, all else is JSON. msgspec and pydantic are imported for the types that need them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, get_args, get_origin

from lonnymq.errors import InvalidArgument

Decode = Callable[[bytes], Any]
Encode = Callable[[Any], bytes]
ALLOWED = "bytes, str, a JSON type, a dataclass, a TypedDict, a msgspec Struct or a pydantic model"


class InvalidPayload(Exception):
    """The payload does not match the type of the handler or the task."""


def create_decoder(annotation: Any) -> Decode:
    """Create the reader of a type."""
    if annotation in (bytes, None):
        return bytes
    if annotation is str:
        return decode_text
    if is_pydantic(annotation):
        return pydantic_decoder(annotation)
    return msgspec_decoder(annotation)


def create_encoder(annotation: Any) -> Encode:
    """Create the writer of a type. The writer checks a value by reading the bytes as the handler will."""
    if annotation in (bytes, None):
        return encode_bytes
    if annotation is str:
        return encode_text
    if get_origin(annotation) in (None, dict, list) and is_plain_json(annotation):
        return plain_json_encoder(annotation)
    if is_pydantic(annotation):
        write = sys.modules["pydantic"].TypeAdapter(annotation).dump_json
        return checked_encoder(
            annotation, lambda value: write(value, by_alias=True, round_trip=True, warnings=False)
        )
    return checked_encoder(annotation, import_msgspec(annotation).json.encode)


# Bytes, text and plain JSON: without any library


def decode_text(content: bytes) -> str:
    """Decode UTF-8."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise InvalidPayload(
            f"payload is not UTF-8: {error.reason} at byte {error.start}"
        ) from None


def encode_bytes(value: Any) -> bytes:
    """Encode bytes, which stay unchanged."""
    if not isinstance(value, bytes | bytearray | memoryview):
        raise InvalidPayload(f"payload does not match bytes: got {type(value).__name__}")
    return bytes(value)


def encode_text(value: Any) -> bytes:
    """Encode UTF-8."""
    if not isinstance(value, str):
        raise InvalidPayload(f"payload does not match str: got {type(value).__name__}")
    try:
        return value.encode()
    except UnicodeEncodeError as error:
        raise InvalidPayload(f"payload is not UTF-8: {error.reason}") from None


def is_plain_json(annotation: Any) -> bool:
    """Return whether a type is dict or list, without further types inside."""
    return annotation in (dict, list, dict[str, Any], list[Any])


def plain_json_encoder(annotation: Any) -> Encode:
    """Create a writer for dict or list without any library."""
    wanted = get_origin(annotation) or annotation

    def encode(value: Any) -> bytes:
        if not isinstance(value, wanted):
            raise InvalidPayload(
                f"payload does not match {format_type(annotation)}: got {type(value).__name__}"
            )
        try:
            return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidPayload(f"payload cannot be written as JSON: {error}") from None

    return encode


# Structured types


def checked_encoder(annotation: Any, write: Callable[[Any], bytes]) -> Encode:
    """Create a writer that reads its bytes again, because a value can differ from what its class declares."""
    read = create_decoder(annotation)

    def encode(value: Any) -> bytes:
        if isinstance(annotation, type) and is_record(annotation) and type(value) is not annotation:
            raise InvalidPayload(
                f"payload does not match {format_type(annotation)}: got {type(value).__name__}"
            )
        try:
            content = write(value)
        except (TypeError, ValueError, AttributeError, RecursionError) as error:
            raise InvalidPayload(f"payload cannot be written as JSON: {error}") from None
        read(content)
        return content

    return encode


def is_record(annotation: type) -> bool:
    """Return whether a type is a dataclass, a Struct or a pydantic model, which a value is or is not."""
    names = ("__dataclass_fields__", "__struct_fields__", "__pydantic_validator__")
    return any(hasattr(annotation, name) for name in names)


def msgspec_decoder(annotation: Any) -> Decode:
    """Create a JSON reader for dict, list, Any, dataclass, TypedDict, NamedTuple, Struct and combinations."""
    msgspec = import_msgspec(annotation)
    try:
        is_unknown = any(
            isinstance(msgspec.inspect.type_info(each), msgspec.inspect.CustomType)
            for each in type_parts(annotation)
            if isinstance(each, type)
        )
        read = msgspec.json.Decoder(annotation).decode
    except (TypeError, NameError) as error:
        raise InvalidArgument(
            f"no payload can be read as {format_type(annotation)}: {error}. Annotate {ALLOWED}"
        ) from error
    if is_unknown:
        raise InvalidArgument(
            f"no payload can be read as {format_type(annotation)}: annotate {ALLOWED}"
        )

    def decode(content: bytes) -> Any:
        try:
            return read(content)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise InvalidPayload(
                f"payload does not match {format_type(annotation)}: {error}"
            ) from None

    return decode


def pydantic_decoder(annotation: Any) -> Decode:
    """Create a JSON reader for pydantic models. The program that annotates with a model has imported pydantic."""
    pydantic = sys.modules["pydantic"]
    read = pydantic.TypeAdapter(annotation).validate_json

    def decode(content: bytes) -> Any:
        try:
            return read(content)
        except pydantic.ValidationError as error:
            problems = ", ".join(
                f"{each['msg']} at {'.'.join(map(str, each['loc'])) or 'the top'}"
                for each in error.errors(include_url=False, include_input=False)
            )
            raise InvalidPayload(
                f"payload does not match {format_type(annotation)}: {problems}"
            ) from None

    return decode


def import_msgspec(annotation: Any) -> ModuleType:
    """Import msgspec, or say which type needs msgspec."""
    try:
        import msgspec
    except ImportError as error:
        raise ImportError(
            f"a payload of type {format_type(annotation)} needs msgspec: run pip install msgspec. "
            "bytes, str, dict, list and pydantic models need no msgspec",
            name="msgspec",
        ) from error
    return msgspec


def is_pydantic(annotation: Any) -> bool:
    """Return whether this type is or contains a pydantic model."""
    return "pydantic" in sys.modules and any(
        hasattr(each, "__pydantic_validator__") for each in type_parts(annotation)
    )


def type_parts(annotation: Any) -> Iterator[Any]:
    """Yield a type and all types inside."""
    yield annotation
    for each in get_args(annotation):
        yield from type_parts(each)


def format_type(annotation: Any) -> str:
    """Format a type as people write it."""
    return (
        annotation.__name__
        if isinstance(annotation, type) and not get_args(annotation)
        else str(annotation)
    )

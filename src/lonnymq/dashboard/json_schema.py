"""Words of JSON Schema: kinds of values, and how forms are put together from them."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
INTEGER: Schema = {"type": "integer"}
FLAG: Schema = {"type": "boolean"}
ANY: Schema = {}
DIGITS: Schema = {"type": "string", "pattern": "^-?[0-9]+$"}
MOMENT: Schema = {"type": "integer", "description": "Epoch milliseconds of the database's clock."}


def maybe(schema: Schema) -> Schema:
    """This, or null."""
    return {"anyOf": [schema, {"type": "null"}]}


def many(schema: Schema) -> Schema:
    """Any number of these."""
    return {"type": "array", "items": schema}


def record(optional: tuple[str, ...] = (), /, **fields: Schema) -> Schema:
    """An object with these fields."""
    return {
        "type": "object",
        "properties": fields,
        "required": [name for name in fields if name not in optional],
        "additionalProperties": False,
    }


def one_of(*words: str) -> Schema:
    """One of these words."""
    return {"type": "string", "enum": list(words)}


def ref(name: str) -> Schema:
    """A form by its name."""
    return {"$ref": f"#/components/schemas/{name}"}


def names(schema: Schema, *words: str) -> dict[str, Schema]:
    """Fields that are all of one form."""
    return dict.fromkeys(words, schema)

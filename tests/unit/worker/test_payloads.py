"""Payloads arrive as the annotated type, or with words that say why they do not fit."""

import subprocess
import sys
from dataclasses import dataclass
from typing import Any, NamedTuple, TypedDict

import msgspec
import pytest

from lonnymq.errors import InvalidArgument
from lonnymq.payloads import InvalidPayload, create_decoder


@dataclass
class Video:
    name: str
    seconds: int = 0


class Typed(TypedDict):
    name: str


class Struct(msgspec.Struct):
    name: str
    tags: list[str] = []


class Named(NamedTuple):
    name: str


@pytest.mark.parametrize(
    ("annotation", "content", "payload"),
    [
        (None, b"\xff", b"\xff"),
        (bytes, b"\xff", b"\xff"),
        (str, "grün".encode(), "grün"),
        (Any, b"[1]", [1]),
        (dict, b'{"a": 1}', {"a": 1}),
        (dict[str, int], b'{"a": 1}', {"a": 1}),
        (list[Video], b'[{"name": "a"}]', [Video("a")]),
        (int | None, b"null", None),
        (Video, b'{"name": "a", "seconds": 2, "later": true}', Video("a", 2)),
        (Typed, b'{"name": "a"}', {"name": "a"}),
        (Struct, b'{"name": "a", "tags": ["b"]}', Struct("a", ["b"])),
        (Named, b'["a"]', Named("a")),
    ],
)
def test_a_payload_arrives_as_the_annotated_type(annotation, content, payload) -> None:
    assert create_decoder(annotation)(content) == payload


@pytest.mark.parametrize(
    ("annotation", "content", "output"),
    [
        (str, b"a\xff", "not UTF-8: invalid start byte at byte 1"),
        (Video, b"", "does not match Video: Input data was truncated"),
        (Video, b"{}", "does not match Video: Object missing required field `name`"),
        (Video, b'{"name": 1}', r"does not match Video: Expected `str`, got `int` - at `\$.name`"),
        (list[int], b'["a"]', r"does not match list\[int\]: Expected `int`"),
        (dict, b"\xff\xfe", "does not match dict: "),
        (Any, b"[" * 100_000, "does not match Any: maximum recursion"),
    ],
)
def test_a_payload_that_does_not_fit_says_why(annotation, content, output: str) -> None:
    with pytest.raises(InvalidPayload, match=output):
        create_decoder(annotation)(content)


class Unreadable:
    pass


@pytest.mark.parametrize("annotation", [Unreadable, "nonsense", list[Unreadable]])
def test_an_annotation_that_no_payload_can_be_read_as_is_refused(annotation) -> None:
    with pytest.raises(InvalidArgument, match="no payload can be read as"):
        create_decoder(annotation)


def test_a_model_of_pydantic_is_read_by_pydantic_which_only_its_user_imports() -> None:
    import pydantic

    class Model(pydantic.BaseModel):
        name: str
        seconds: int = 0

    assert create_decoder(Model)(b'{"name": "a", "seconds": 2}').seconds == 2
    assert create_decoder(list[Model])(b'[{"name": "a"}]')[0].name == "a"
    with pytest.raises(
        InvalidPayload, match="does not match Model: Field required at name"
    ) as caught:
        create_decoder(Model)(b'{"secret": "canary"}')
    assert "canary" not in str(caught.value)


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


def test_the_worker_does_not_import_pydantic() -> None:
    assert python("import sys, lonnymq.worker; sys.exit('pydantic' in sys.modules)").returncode == 0


@pytest.mark.parametrize("name", ["msgspec", "cronsim"])
def test_without_its_extra_the_worker_says_what_to_install(name: str) -> None:
    ran = python(f"import sys; sys.modules['{name}'] = None; from lonnymq import Worker")
    assert f'the worker needs {name}: run pip install "lonnymq[worker]"' in ran.stderr


def test_prometheus_client_is_imported_only_for_metrics_and_missed_with_advice() -> None:
    code = "import sys; sys.modules['prometheus_client'] = None; from lonnymq import Worker"
    assert python(code).returncode == 0
    ran = python(f"{code}; import lonnymq.worker.metrics")
    assert 'metrics need prometheus_client: run pip install "lonnymq[worker]"' in ran.stderr

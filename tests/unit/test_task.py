"""Tasks: a payload is encoded and checked by the type that the handler reads."""

import inspect
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pydantic
import pytest

import lonnymq
from lonnymq import NewMessage, Queue, Task, Worker
from lonnymq.client.calls.message import MessageLimits
from lonnymq.errors import InvalidArgument
from lonnymq.payloads import create_decoder
from lonnymq.task import MessageOptions


@dataclass
class Video:
    name: str
    seconds: int = 0
    tags: list[str] = field(default_factory=list)


class Struct(msgspec.Struct):
    name: str
    seconds: int = 0


class Model(pydantic.BaseModel):
    name: str = pydantic.Field(alias="title")
    seconds: int = 0


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        (bytes, b"\xff"),
        (str, "grün"),
        (dict, {"a": [1, None, "ü"]}),
        (dict[str, Any], {"a": 1.5}),
        (list, [1, 2]),
        (dict[str, int], {"a": 1}),
        (Video, Video("cats", 60, ["a"])),
        (list[Video], [Video("cats")]),
        (Struct, Struct("cats", 60)),
        (Model, Model(title="cats", seconds=60)),
        (list[Model], [Model(title="cats")]),
        (int | None, None),
    ],
)
def test_the_handler_reads_what_the_task_wrote(kind, payload) -> None:
    assert create_decoder(kind)(Task("encode", kind).encode(payload)) == payload


@pytest.mark.parametrize(
    ("kind", "payload", "output"),
    [
        (bytes, "cats", "payload does not match bytes: got str"),
        (str, b"cats", "payload does not match str: got bytes"),
        (str, "\ud800", "payload is not UTF-8"),
        (dict, [1], "payload does not match dict: got list"),
        (dict, {"a": object()}, "payload cannot be written as JSON: .*object"),
        (dict, {"a": float("nan")}, "payload cannot be written as JSON"),
        (Video, {"name": "cats"}, "payload does not match Video: got dict"),
        (Video, Video("cats", "long"), r"Expected `int`, got `str` - at `\$.seconds`"),  # type: ignore[arg-type]
        (Video, Video("cats", tags=[1]), r"Expected `str`, got `int` - at `\$.tags\[0\]`"),  # type: ignore[list-item]
        (Struct, Struct("cats", None), r"Expected `int`, got `null` - at `\$.seconds`"),  # type: ignore[arg-type]
        (Model, Model.model_construct(name="cats", seconds="long"), "integer.* at seconds"),
        (dict[str, int], {"a": "b"}, r"Expected `int`, got `str` - at `\$\[...\]`"),
    ],
)
def test_a_wrong_payload_is_an_error_that_names_the_task_and_the_field(
    kind, payload, output
) -> None:
    with pytest.raises(InvalidArgument, match=f"task 'encode': .*{output}"):
        Task("encode", kind).encode(payload)


def test_a_type_that_no_payload_has_is_refused_with_the_name_of_the_task() -> None:
    with pytest.raises(InvalidArgument, match="task 'encode': no payload can be read as Queue"):
        Task("encode", Queue)
    with pytest.raises(InvalidArgument, match="a task needs a kind of its own"):
        Task("*")
    with pytest.raises(InvalidArgument, match="name must be a str"):
        Task(3)  # type: ignore[arg-type]  # the mistake


def test_a_task_takes_the_options_of_create() -> None:
    create = set(inspect.signature(Queue.create).parameters) - {"self", "channel", "content"}
    limits = set(MessageLimits.__annotations__)
    assert (
        set(MessageOptions.__annotations__)
        == create - {"kind", "group", "using", "limits"} | limits
    )
    assert limits | create - {"group", "using", "limits"} < set(NewMessage.__annotations__)


def test_a_handler_has_the_type_of_its_task() -> None:
    worker, encode = Worker(), Task("encode", Video)

    @worker.handler(encode)
    async def bare(video) -> None: ...

    handler = worker.handlers.get("encode")
    assert handler is not None
    assert handler.decode is not None
    assert handler.decode(b'{"name": "cats"}') == Video("cats")
    with pytest.raises(
        InvalidArgument,
        match=r"has payloads of Video, but .*other takes dict: annotate the payload",
    ):

        @Worker().handler(encode)
        async def other(video: dict) -> None: ...  # type: ignore[type-arg]  # the mistake


def test_a_batch_handler_takes_a_list_of_the_payloads_of_its_task() -> None:
    worker = Worker()

    @worker.handler(Task("encode", Video), batch=10)
    async def many(videos: list[Video]) -> None: ...

    handler = worker.handlers.get("encode")
    assert handler is not None
    assert handler.payload_type is Video


def test_a_worker_declares_a_task_from_its_handler() -> None:
    worker = Worker()

    @worker.task("encode", max_attempts=3)
    async def encode(video: Video) -> None: ...

    @worker.task("tick")
    def tick() -> None: ...

    assert (encode.name, encode.type, tick.type) == ("encode", Video, bytes)
    assert inspect.iscoroutinefunction(encode.function)
    assert repr(encode) == "Task('encode', Video)"
    assert worker.kinds == ("encode", "tick")


def test_a_target_that_is_no_queue_is_an_error_with_the_fix() -> None:
    encode = Task("encode", str)
    with Queue("postgresql://nowhere") as queue:
        with pytest.raises(InvalidArgument, match=r"needs a channel: write encode.create\(queue"):
            encode.create(queue, "cats")
        with pytest.raises(InvalidArgument, match="give the channel 'acme' or channel='other'"):
            encode.create(queue.channel("acme"), "cats", channel="other")
    with pytest.raises(InvalidArgument, match=r"must be a queue or a channel of a queue.*not str"):
        encode.create("acme", "cats")  # type: ignore[call-overload]  # the mistake


PRODUCER = """
import sys
sys.modules["msgspec"] = sys.modules["cronsim"] = None
from lonnymq import Task
import pydantic
class Model(pydantic.BaseModel):
    name: str
for kind, payload in [(bytes, b"a"), (str, "a"), (dict, {"a": 1}), (Model, Model(name="a"))]:
    Task("encode", kind).encode(payload)
assert "lonnymq.worker" not in sys.modules
from dataclasses import dataclass
@dataclass
class Video:
    name: str
Task("encode", Video)
"""


def test_a_producer_needs_neither_the_worker_nor_its_extra() -> None:
    ran = subprocess.run([sys.executable, "-c", PRODUCER], capture_output=True, text=True)
    last = ran.stderr.splitlines()[-1]
    assert "a payload of type Video needs msgspec: run pip install msgspec" in last


def test_a_task_is_a_public_name() -> None:
    assert lonnymq.Task is Task

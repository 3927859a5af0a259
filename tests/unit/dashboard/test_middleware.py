"""An unexpected error tells a visitor nothing, and the log where it was raised, but not its text."""

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Message

from lonnymq.dashboard.app import HEADERS, SecurityHeadersMiddleware

SECRET = "the text of a payload"


async def fail(_: Request) -> Response:
    raise ValueError(SECRET)


async def fail_late(_: Request) -> Response:
    async def body() -> AsyncIterator[str]:
        yield "begun"
        raise ValueError(SECRET)

    return StreamingResponse(body())


APP = Starlette(routes=[Route("/fail", fail), Route("/late", fail_late)])
GUARDED = SecurityHeadersMiddleware(APP, hosts={"known"})


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(GUARDED, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://known") as client:
        yield client


async def test_the_text_of_an_unexpected_error_is_hidden(
    client: httpx.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    answer = await client.get("/fail")
    assert answer.status_code == 500
    assert set(map(str.lower, HEADERS)) <= answer.headers.keys()
    assert SECRET not in answer.text + caplog.text
    assert "ValueError at " in caplog.text
    assert "test_middleware.py:" in caplog.text


async def test_an_answer_that_has_begun_breaks_off_without_the_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    sent: list[Message] = []

    async def receive() -> Message:
        return await asyncio.Future()  # the client stays

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/late", "headers": [(b"host", b"known")]}
    await GUARDED(scope, receive, send)
    assert [each.get("body") for each in sent] == [None, b"begun"]
    assert "ValueError at " in caplog.text
    assert SECRET not in caplog.text


@pytest.mark.parametrize("host", ["unknown", "[known", ""])
async def test_a_name_of_another_host_is_refused(client: httpx.AsyncClient, host: str) -> None:
    assert (await client.get("/fail", headers={"host": host})).status_code in (400, 403, 421)

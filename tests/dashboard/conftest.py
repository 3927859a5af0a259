"""Pages over a fresh queue: `page(...)` makes one, and a client that is signed in to it."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest

from lonnymq.dashboard import create_app

TOKEN = "a-token-for-the-tests-0123456789"
BASE = "http://page.test"


@pytest.fixture
async def page(dsn_18: str) -> AsyncIterator[Callable[..., Any]]:
    """Makes clients of an app of their own: `await page(actions=True, token=TOKEN)`."""
    clients: list[httpx.AsyncClient] = []
    apps: list[Any] = []

    async def make(queues: Any = None, *, signed_in: bool = True, **settings: Any) -> Any:
        app = create_app(queues or {"jobs": dsn_18}, **settings)
        client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=BASE)
        clients.append(client)
        apps.append(app)
        session = (await client.get("/api/session")).json()
        client.headers["X-CSRF-Token"] = session["csrf"]
        if signed_in and session["login"] == "token":
            answer = await client.post("/api/session", json={"token": settings["token"]})
            assert answer.status_code == 200
        return client

    yield make
    for client in clients:
        await client.aclose()
    for app in apps:
        for queue in app.state.dashboard.queues.values():
            await queue.close()

"""A database connection that goes silent: the dashboard says so in time, and goes on with a new connection."""

import asyncio
import json
from collections.abc import Iterator

import pytest
from faults.tcp_proxy import TcpProxy, tcp_proxy

from lonnymq.dashboard import queues


@pytest.fixture
def proxy(dsn_18: str, monkeypatch) -> Iterator[TcpProxy]:
    monkeypatch.setattr(queues, "READ_SECONDS", 0.5)
    with tcp_proxy(dsn_18) as proxy:
        yield proxy


@pytest.mark.parametrize("path", ["/api/queues/jobs/overview", "/api/queues/jobs/channels"])
async def test_a_page_works_again_after_its_connections_went_silent(page, proxy, path) -> None:
    client = await page({"jobs": proxy.dsn})
    assert (await client.get(path)).status_code == 200
    await asyncio.to_thread(proxy.silence)
    async with asyncio.timeout(5):
        answers = [(await client.get(path)).status_code for _ in range(4)]
    assert answers[-1] == 200


async def test_a_silent_database_is_neither_up_nor_ready(page, proxy, dsn_18) -> None:
    client = await page({"silent": proxy.dsn, "jobs": dsn_18})
    assert (await client.get("/ready")).status_code == 200
    await asyncio.to_thread(proxy.silence, new=True)
    client._transport.app.state.dashboard.cache.answers.clear()
    async with asyncio.timeout(5):
        assert (await client.get("/ready")).status_code == 503
        text = (await client.get("/metrics")).text
    assert 'lonnymq_up{queue="silent"} 0' in text
    assert 'lonnymq_up{queue="jobs"} 1' in text
    await asyncio.to_thread(proxy.heal)
    async with asyncio.timeout(5):
        while (await client.get("/ready")).status_code != 200:
            await asyncio.sleep(0.05)


async def test_the_live_stream_says_trouble_and_goes_on(page, proxy) -> None:
    client = await page({"jobs": proxy.dsn})
    state = client._transport.app.state.dashboard
    from lonnymq.dashboard.api.queue import read_overview

    stream = state.get_stream(state.queues["jobs"], read_overview)
    stream.every = 0.05
    events = stream.events()

    async def until(word: str) -> None:
        async for event in events:
            if event.startswith(f"event: {word}".encode()):
                json.loads(event.decode().partition("data: ")[2])
                return

    async with asyncio.timeout(10):
        await until("overview")
        await asyncio.to_thread(proxy.silence, new=True)
        await until("trouble")
        await asyncio.to_thread(proxy.heal)
        await until("overview")
    await events.aclose()
    stream.task.cancel()

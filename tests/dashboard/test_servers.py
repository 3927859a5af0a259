"""The page over every server that the queue runs on, and through PgBouncer."""

import httpx

from dashboard.conftest import TOKEN
from dashboard.sample_queue import fill_queue
from lonnymq import Queue
from lonnymq.dashboard import create_app

PATHS = (
    "overview",
    "series",
    "channels",
    "channels?sort=waiting",
    "channels?sort=oldest",
    "channels?state=saturated",
    "channels?search=c",
    "channel?name=acme",
    "channel/series?name=acme&span=day",
    "messages?channel=acme",
    "dead",
    "dead/groups",
    "workers",
    "schedules",
    "audit",
)


async def test_every_endpoint_and_an_action_works(dsn):
    with Queue(dsn) as queue:
        ids = fill_queue(queue)
    app = create_app({"jobs": dsn}, actions=True, token=TOKEN)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(
        transport=transport, base_url="http://page.test", headers=headers
    ) as client:
        for path in (*PATHS, *(f"messages/{each}" for each in ids.values())):
            for _ in range(2):
                answer = await client.get(f"/api/queues/jobs/{path}")
                assert answer.status_code == 200, (path, answer.text)
            app.state.dashboard.cache.answers.clear()
        for action in ("pause", "resume"):
            for path in (f"{action}/preview", action):
                body = {"channel": "acme"}
                answer = await client.post(f"/api/queues/jobs/actions/{path}", json=body)
                assert answer.status_code == 200, answer.text
        assert len((await client.get("/api/queues/jobs/audit")).json()["entries"]) == 2
    await app.state.dashboard.queues["jobs"].close()


async def test_a_pool_of_the_users_own_is_used_and_left_open(dsn_18):
    from psycopg_pool import AsyncConnectionPool

    async with AsyncConnectionPool(dsn_18, min_size=1, max_size=2, open=False) as pool:
        app = create_app({"jobs": pool})
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://page.test") as client:
            for _ in range(3):
                app.state.dashboard.cache.answers.clear()
                assert (await client.get("/api/queues/jobs/overview")).status_code == 200
        async with pool.connection() as connection:
            row = await (await connection.execute("show transaction_read_only")).fetchone()
            assert row == ("off",)

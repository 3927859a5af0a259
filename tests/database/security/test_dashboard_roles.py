"""The page with the rights of a role: a viewer's looks at everything and does nothing, an admin's acts."""

import httpx
import pytest

from dashboard.conftest import TOKEN
from dashboard.sample_queue import fill_queue
from lonnymq import Queue
from lonnymq.dashboard import create_app

LOOKS = (
    "overview",
    "series",
    "channels",
    "channels?sort=waiting",
    "channels?sort=oldest",
    "channels?sort=running",
    "channels?state=paused",
    "channels?search=cm",
    "channel?name=acme",
    "messages?channel=acme",
    "dead",
    "dead/groups",
    "workers",
    "schedules",
    "audit",
)


@pytest.mark.parametrize("role", ["viewer", "admin"])
async def test_a_viewer_may_look_and_an_admin_may_act(guarded, login, role):
    with Queue(guarded) as queue:
        ids = fill_queue(queue)
    app = create_app({"jobs": login(f"a_{role}")}, actions=True, token=TOKEN)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(
        transport=transport, base_url="http://page.test", headers=headers
    ) as client:
        for path in (*LOOKS, *(f"messages/{each}" for each in ids.values())):
            answer = await client.get(f"/api/queues/jobs/{path}")
            assert answer.status_code == 200, (path, answer.text)
        assert (await client.get("/metrics")).text.count("lonnymq_up{") == 1
        done = await client.post("/api/queues/jobs/actions/pause", json={"channel": "acme"})
        assert done.status_code == (200 if role == "admin" else 503)
        if role == "viewer":
            assert "may not do this" in done.json()["error"]["message"]
    await app.state.dashboard.queues["jobs"].close()

"""The page as a part of another app: under any path, in Starlette, in FastAPI, and beside Django."""

import os
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

from dashboard.conftest import TOKEN
from dashboard.server import served
from lonnymq import Queue
from lonnymq.dashboard import create_app


def host(page: Any) -> Starlette:
    async def home(_: Any) -> PlainTextResponse:
        return PlainTextResponse("the host app")

    return Starlette(routes=[Route("/", home), Mount("/ops/queue", app=page)])


def test_it_is_mounted_under_any_path(dsn_18):
    page = create_app({"jobs": dsn_18}, token=TOKEN, actions=True)
    with served(host(page)) as address, httpx.Client(base_url=address) as client:
        assert client.get("/").text == "the host app"
        there = client.get("/ops/queue", follow_redirects=True)
        assert there.url.path == "/ops/queue/"
        assert "<!doctype html>" in there.text.lower()
        session = client.get("/ops/queue/api/session")
        assert all("Path=/ops/queue/;" in each for each in session.headers.get_list("set-cookie"))
        headers = {"X-CSRF-Token": session.json()["csrf"]}
        client.post("/ops/queue/api/session", json={"token": TOKEN}, headers=headers)
        assert client.get("/ops/queue/api/queues/jobs/overview").status_code == 200


def test_it_stands_beside_django(dsn_18):
    """Django knows no mounting: its asgi.py hands over what begins with the page's path."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "")
    from django.conf import settings

    if not settings.configured:
        settings.configure(ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"], SECRET_KEY="x")
    from django.core.asgi import get_asgi_application

    application = host_of(get_asgi_application(), create_app({"jobs": dsn_18}))
    with served(application) as address:
        assert httpx.get(f"{address}/queue/api/queues/jobs/overview").status_code == 200
        page = httpx.get(f"{address}/queue/")
        assert page.headers["content-type"].startswith("text/html")


def host_of(django: Any, page: Any) -> Any:
    routes = [Mount("/queue", app=page), Mount("/", app=django)]
    return Starlette(routes=routes)


urlpatterns: list[Any] = []


@pytest.mark.parametrize("path", ["static/../app.py", "static/%2e%2e/app.py", "report/..%2fapp.py"])
async def test_no_file_outside_is_served(page, path, tmp_path):
    client = await page(lake=tmp_path)
    assert (await client.get(f"/{path}")).status_code == 404


async def test_a_file_that_a_browser_has_is_not_sent_again(page):
    client = await page()
    for path, kind in (("/", "text/html"), ("/static/app.js", "text/javascript")):
        first = await client.get(path)
        assert first.headers["content-type"] == f"{kind}; charset=utf-8"
        assert first.headers["cache-control"] == "no-cache"
        again = await client.get(path, headers={"If-None-Match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
    assert (await client.get("/static/icon.svg")).headers["content-type"] == "image/svg+xml"
    assert (await client.get("/static/none.js")).status_code == 404
    assert (await client.head("/static/app.js")).content == b""


async def test_a_file_that_is_named_by_its_hash_is_cached_forever(page):
    client = await page()
    named = re.findall(r'"(static/[^"]+)"', (await client.get("/")).text)
    assert len(named) == 4
    for path in named:
        answer = await client.get(f"/{path}")
        assert "immutable" in answer.headers["cache-control"]
        other = await client.get(f"/{path}0")
        assert (other.status_code, other.headers["cache-control"]) == (200, "no-cache")


async def test_files_are_sent_packed_to_who_can_unpack_them(page):
    client = await page()
    plain = await client.get("/static/bundle/app.js", headers={"Accept-Encoding": "identity"})
    packed = await client.get("/static/bundle/app.js", headers={"Accept-Encoding": "br, gzip"})
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.text == plain.text
    assert int(packed.headers["content-length"]) < int(plain.headers["content-length"]) / 2


def test_it_is_mounted_in_fastapi_and_uses_its_sign_in(dsn_18):
    from fastapi import Depends, FastAPI, Request

    def who(request: Request) -> str | None:
        return {"Bearer of-anna": "anna"}.get(request.headers.get("authorization", ""))

    app = FastAPI()
    Queue(dsn_18).create("acme", b"x")

    @app.get("/")
    def home(user: str | None = Depends(who)) -> dict[str, str | None]:
        return {"user": user}

    app.mount("/queue", create_app({"jobs": dsn_18}, actions=True, authenticate=who))
    anna = {"Authorization": "Bearer of-anna"}
    with served(app) as address, httpx.Client(base_url=address) as client:
        assert client.get("/", headers=anna).json() == {"user": "anna"}
        assert "/queue" not in client.get("/openapi.json").text
        assert client.get("/queue/api/queues/jobs/overview").status_code == 401
        client.headers.update(anna)
        there = client.get("/queue", follow_redirects=True)
        assert (there.url.path, "<!doctype html>" in there.text.lower()) == ("/queue/", True)
        session = client.get("/queue/api/session").json()
        client.headers["X-CSRF-Token"] = session["csrf"]
        pause = "/queue/api/queues/jobs/actions/pause"
        paused = client.post(pause, json={"channel": "acme"})
        assert paused.status_code == 200, paused.text
        (entry,) = client.get("/queue/api/queues/jobs/audit").json()["entries"]
        assert (entry["action"], entry["who"]) == ("pause", "anna")


async def test_the_files_of_a_report_are_shown_when_there_is_one(page, tmp_path: Path):
    client = await page(lake=tmp_path)
    empty = (await client.get("/api/report")).json()
    assert empty["available"] is False
    assert "lonnymq report" in empty["advice"]
    (tmp_path / "waits-by-hour.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    (tmp_path / "index.html").write_text("<h1>Report</h1>")
    (tmp_path / "secrets.txt").write_text("no")
    seen = (await client.get("/api/report")).json()
    assert seen["pictures"] == [
        {"name": "waits-by-hour.svg", "url": "report/waits-by-hour.svg", "title": "Waits by hour"}
    ]
    picture = await client.get("/report/waits-by-hour.svg")
    assert picture.headers["content-type"] == "image/svg+xml"
    assert "sandbox" in picture.headers["content-security-policy"]
    report = await client.get(f"/{seen['url']}")
    assert report.text == "<h1>Report</h1>"
    policy = report.headers["content-security-policy"]
    assert policy.startswith(
        "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'"
    )
    assert "allow-same-origin" not in policy
    assert report.headers["x-frame-options"] == "SAMEORIGIN"
    assert (await client.get("/report/secrets.txt")).status_code == 404
    assert (await (await page()).get("/report/")).status_code == 404


async def test_of_several_reports_the_newest_is_shown_wherever_it_lies(page, tmp_path: Path):
    client = await page(lake=tmp_path)
    assert str(tmp_path) in (await client.get("/api/report")).json()["advice"]
    (tmp_path / "reports").mkdir()
    for at, name in enumerate(("monday.html", "reports/tuesday.html", "reports/older.html")):
        (tmp_path / name).write_text(name)
        os.utime(tmp_path / name, (100 - at * 10, 100 - at * 10))
    os.utime(tmp_path / "reports" / "tuesday.html", (200, 200))
    seen = (await client.get("/api/report")).json()
    assert (seen["title"], seen["made_at"]) == ("tuesday", 200_000)
    assert (await client.get("/report/")).text == "reports/tuesday.html"
    one = await page(report=tmp_path / "monday.html")
    assert (await one.get("/report/")).text == "monday.html"


async def test_a_report_is_shown_to_those_alone_who_may_look(page, tmp_path: Path):
    (tmp_path / "report.html").write_text("secret")
    client = await page(token=TOKEN, signed_in=False, report=tmp_path)
    assert (await client.get("/report/")).status_code == 401
    assert (await client.get("/api/report")).status_code == 401

"""What happens in the queue arrives without a reload; when it no longer can, the page says so and recovers."""

import re
from collections.abc import Iterator

import psycopg
import pytest
from playwright.async_api import expect

from browser.conftest import WATCH, Open, Site, live
from browser.server import Serving, serving
from lonnymq import Queue
from lonnymq.dashboard import create_app
from lonnymq.testing import run
from support import Target


async def test_a_new_message_arrives_on_the_overview_without_a_reload(show: Open, site: Site):
    page = await show("billing/overview")
    await expect(page.get_by_text("No channel has messages")).to_be_visible()
    await page.evaluate("window.same = true")
    site.queues["billing"].create_many([b"job"] * 5, channel="newcomer")
    await expect(page.get_by_role("row", name=re.compile("^newcomer.* 5 "))).to_be_visible()
    await expect(page.get_by_text("No worker is alive")).to_be_visible()
    assert await page.evaluate("window.same")
    site.queues["billing"].purge("newcomer")
    await expect(page.get_by_text("No worker is alive")).to_have_count(0)


async def test_a_channel_s_page_follows_what_happens_in_it(show: Open, site: Site):
    queue = site.queues["billing"]
    queue.create("followed", b"one")
    page = await show("billing/channel/followed")
    await expect(page.get_by_role("row", name=re.compile("waiting"))).to_be_visible()
    [message] = queue.dequeue(worker="a worker of the test")
    await expect(
        page.get_by_role("row", name=re.compile("running by a worker of the test"))
    ).to_be_visible()
    message.complete()
    await expect(page.get_by_text("No messages are waiting or running")).to_be_visible()


async def test_times_tick_by_themselves(show: Open):
    page = await show("app/workers")
    up = page.get_by_role("row", name=re.compile("videos-web-1")).get_by_role("cell").nth(5)
    before = await up.text_content()
    await expect(up).not_to_have_text(before or "")


async def test_windows_that_nobody_sees_leave_the_connections_to_the_one_that_is_seen(
    site: Site, window: Open
):
    """A browser has six connections to a server; a stream holds one of them."""
    with serving(lambda: create_app({"app": site.dsns["app"]})) as server:
        first = await window(f"{server.url}#/app/workers")
        for _ in range(6):
            page = await first.context.new_page()
            await page.add_init_script(WATCH)
            await page.goto(f"{server.url}#/app/workers")
            await expect(live(page)).to_be_visible()
            await page.evaluate(HIDE)
        await first.get_by_role("link", name="Schedules").click()
        await expect(first.get_by_role("table", name="Schedules")).to_be_visible()
        await expect(live(first)).to_be_visible()


HIDE = """() => {
  Object.defineProperty(document, "hidden", { get: () => true });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


@pytest.fixture
def alone(server_18: Target) -> Iterator[tuple[Serving, str]]:
    """A page and a database that may be taken away."""
    with server_18.database() as (dsn, _):
        with Queue(dsn) as queue:
            queue.create("acme", b"job")
        with serving(lambda: create_app({"alone": dsn})) as server:
            yield server, dsn


async def test_a_lost_connection_is_shown_and_recovers(alone: tuple[Serving, str], window: Open):
    server, dsn = alone
    page = await window(f"{server.url}#/alone/overview")
    await expect(page.get_by_role("table", name="Busiest channels")).to_contain_text("acme")
    server.stop()
    await expect(page.get_by_role("alert")).to_contain_text("The live connection is lost.")
    await expect(page.get_by_role("table", name="Busiest channels")).to_contain_text("acme")
    server.start()
    await expect(live(page)).to_be_visible()
    await expect(page.get_by_role("alert")).to_have_count(0)
    with Queue(dsn) as queue:
        queue.create("after the break", b"job")
    await expect(page.get_by_role("row", name=re.compile("after the break"))).to_be_visible()


async def test_a_database_that_is_away_is_shown_and_recovers(
    alone: tuple[Serving, str], window: Open, server_18: Target
):
    server, dsn = alone
    name = psycopg.conninfo.conninfo_to_dict(dsn)["dbname"]
    page = await window(f"{server.url}#/alone/overview")
    await expect(page.get_by_role("table", name="Busiest channels")).to_contain_text("acme")
    run(server_18.direct_dsn, f"alter database {name} allow_connections false")
    run(
        server_18.direct_dsn,
        f"select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'",
    )
    await expect(page.get_by_role("alert").first).to_contain_text("The database does not answer.")
    run(server_18.direct_dsn, f"alter database {name} allow_connections true")
    await expect(live(page)).to_be_visible()
    await expect(page.get_by_role("alert")).to_have_count(0)

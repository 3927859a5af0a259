"""100,000 channels: the server pages, sorts and searches them, and the page never holds more than it shows."""

from collections.abc import Iterator

import psycopg
import pytest
from playwright.async_api import expect

from browser.conftest import Open
from browser.server import Serving, serving
from lonnymq import Queue
from lonnymq.dashboard import create_app
from support import Target

MANY = 100_000


@pytest.fixture(scope="module")
def many(server_18: Target) -> Iterator[Serving]:
    with server_18.database() as (dsn, _):
        with Queue(dsn) as queue:
            queue.create("tenant-077777", b"job")
            queue.channel_set("zzz-the-last-one")
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute(
                "insert into lonnymq.channel_setting"
                " (name, burst, when_full, weight, max_attempts, retry_delays_ms, retry_jitter)"
                " select 'tenant-' || lpad(i::text, 6, '0'), 1, 'reject', 1, 5, '{1000}', 0.1"
                f" from generate_series(1, {MANY}) i"
            )
            connection.execute("analyze lonnymq.channel_setting")
        with serving(lambda: create_app({"many": dsn})) as server:
            yield server


async def test_channels_are_paged_by_the_server(many: Serving, window: Open):
    page = await window(f"{many.url}#/many/channels?sort=name")
    rows = page.get_by_role("table", name="Channels").get_by_role("row")
    await expect(rows.nth(1)).to_contain_text("tenant-000001")
    await expect(rows).to_have_count(51)
    await page.get_by_role("button", name="Next page").click()
    await expect(rows.nth(1)).to_contain_text("tenant-000051")
    await expect(rows).to_have_count(51)
    await page.get_by_role("button", name="First page").click()
    await expect(rows.nth(1)).to_contain_text("tenant-000001")


@pytest.mark.long
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("tenant-0777", "tenant-077700"),
        ("099999", "tenant-099999"),
        ("THE-LAST", "zzz-the-last-one"),
    ],
)
async def test_a_search_finds_names_that_begin_with_it_or_contain_it(
    many: Serving, window: Open, text: str, found: str
):
    page = await window(f"{many.url}#/many/channels")
    await page.get_by_label("Search by name").fill(text)
    await expect(page.get_by_role("link", name=found)).to_be_visible()


async def test_a_search_that_finds_nothing_says_so(many: Serving, window: Open):
    page = await window(f"{many.url}#/many/channels")
    await page.get_by_label("Search by name").fill("nobody-is-called-this")
    await expect(page.get_by_text("No channel name contains")).to_be_visible()


async def test_the_busiest_come_first_among_so_many(many: Serving, window: Open):
    page = await window(f"{many.url}#/many/channels")
    await expect(
        page.get_by_role("table", name="Channels").get_by_role("row").nth(1)
    ).to_contain_text("tenant-077777")

"""Opening the page is cheap: few requests, few after each other, and nothing twice."""

from urllib.parse import urlsplit

from playwright.async_api import Page, expect

from browser.conftest import Open
from browser.server import serving
from lonnymq.dashboard import create_app

ASKED = """
() => ["navigation", "resource"].flatMap((kind) => performance.getEntriesByType(kind)).map((each) =>
  [each.name, each.startTime, each.responseEnd, each.transferSize])
"""


async def whole(page: Page) -> None:
    """The overview has all of its parts."""
    await expect(page.get_by_label("Figures, live")).to_be_visible()
    await expect(page.get_by_role("heading", name="The last hour")).to_be_visible()
    await expect(page.locator("[aria-busy]")).to_have_count(0)


def place(address: str) -> str:
    """What was asked for."""
    return urlsplit(address).path.removeprefix("/") or "the page"


async def test_the_first_view_takes_few_requests(dsn_18: str, window: Open):
    with serving(lambda: create_app({"jobs": dsn_18})) as server:
        page = await window(server.url)
        await whole(page)
        asked = await page.evaluate(ASKED)
        names = [place(name) for name, *_ in asked]
        files = {name for name in names if not name.startswith("api/")}
        assert files - {"static/icon.svg"} == {
            "the page",
            "static/bundle/style.css",
            "static/bundle/app.js",
            "static/theme.js",
        }
        looks = {
            "series",
            "channels",
            "attention",
            "kinds",
            "events",
        }  # the stream of events is told of when it ends
        assert names.count("api/session") == 1
        assert {name for name in names if name.startswith("api/queues/")} <= {
            f"api/queues/jobs/{look}" for look in looks
        }


async def test_no_file_waits_for_another_one(dsn_18: str, window: Open):
    """The page names all of them, so a slow connection is waited for once: then come the session and the looks."""
    with serving(lambda: create_app({"jobs": dsn_18})) as server:
        page = await window(server.url)
        await whole(page)
        asked = {place(name): (began, ended) for name, began, ended, _ in await page.evaluate(ASKED)}  # fmt: skip
        files = [asked[name] for name in asked if name.startswith("static/") and "icon" not in name]
        assert max(began for began, _ in files) <= min(ended for _, ended in files)
        series, channels = (asked[f"api/queues/jobs/{look}"] for look in ("series", "channels"))
        assert max(series[0], channels[0]) <= min(series[1], channels[1])


async def test_a_second_opening_fetches_no_script_and_no_style(dsn_18: str, window: Open):
    with serving(lambda: create_app({"jobs": dsn_18})) as server:
        page = await window(server.url)
        await whole(page)
        await page.goto("about:blank")
        await page.goto(server.url)
        await whole(page)
        sizes = {place(name): size for name, *_, size in await page.evaluate(ASKED)}
        assert (sizes["static/bundle/app.js"], sizes["static/bundle/style.css"]) == (0, 0)

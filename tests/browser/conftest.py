"""One browser, one server and mostly one window for all tests of the page.

A window keeps what went wrong in it: errors, dialogs, broken rules of the content security policy. A test with any of
these fails. Playwright's asynchronous API runs in one loop for the session: its synchronous one would leave a running
loop behind for the asynchronous tests of other folders.
"""

from __future__ import annotations

import inspect
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import (
    Browser,
    Locator,
    Page,
    ViewportSize,
    async_playwright,
    expect,
)

from browser.hostile import add_hostile
from browser.sample_queue import add_past, fill
from browser.server import Serving, serving
from lonnymq import Queue
from lonnymq.dashboard import QueueAt, create_app
from support import Target, missing

WIDE: ViewportSize = {"width": 1280, "height": 900}
LEFT_OVER = "localStorage.clear(), Boolean(document.querySelector('dialog, .toast, [data-theme]'))"
TOKEN = "a-token-for-the-tests-of-the-page"
WAIT_MS = 30_000  # a condition may take so long on a busy machine
WATCH = """
window.broken = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.broken.push(event.violatedDirective + " " + event.blockedURI));
"""


def live(page: Page) -> Locator:
    """What says that the page is live, at the side or on top."""
    return page.locator(".link-state.live:visible")


expect.set_options(timeout=WAIT_MS)


@pytest.hookimpl(tryfirst=True)  # before xdist looks at groups, wherever it is started
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All of them in one process, with one browser, and in one loop."""
    for item in items:
        if "/tests/browser/" in item.path.as_posix():
            item.add_marker(pytest.mark.xdist_group("browser"))
            if inspect.iscoroutinefunction(getattr(item, "function", None)):
                item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    program = shutil.which("chromium")
    if program is None:
        missing("chromium")
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    async with async_playwright() as playwright:
        opened = await playwright.chromium.launch(executable_path=program, args=options)
        yield opened
        await opened.close()


@dataclass
class Site:
    """The page over several queues, and the queues."""

    serving: Serving
    queues: dict[str, Queue]
    dsns: dict[str, str]
    hostile: dict[str, int]
    page: Page | None = None
    troubles: list[str] = field(default_factory=list)

    def at(self, place: str) -> str:
        return f"{self.serving.url}#/{place}"


@pytest.fixture(scope="session")
def site(server_18: Target) -> Iterator[Site]:
    """Queues: `app` is full of life, `billing` and `idle` are empty, `hostile` means harm, `bare` is no queue."""
    with (
        server_18.database() as (dsn, _),
        server_18.database() as (hostile_dsn, _),
        server_18.database() as (idle_dsn, _),
    ):
        queues = {"app": fill(dsn), "hostile": Queue(hostile_dsn)}
        queues["billing"] = Queue(dsn, schema="billing")
        queues["billing"].install()
        add_past(dsn, days=0.1)
        ids = add_hostile(queues["hostile"])
        shown = {
            "app": dsn,
            "billing": QueueAt(dsn, schema="billing"),
            "idle": idle_dsn,
            "hostile": hostile_dsn,
            "bare": QueueAt(dsn, schema="nothing_here"),
        }
        with serving(lambda: create_app(shown, actions=True, token=TOKEN)) as server:
            yield Site(server, queues, {"app": dsn, "hostile": hostile_dsn}, ids)
        for queue in queues.values():
            queue.close()


Open = Callable[..., Awaitable[Page]]


async def watch(page: Page, troubles: list[str]) -> None:
    """Keep what goes wrong in a window."""
    page.set_default_timeout(WAIT_MS)
    page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
    page.on("console", lambda output: heard(troubles, output))
    page.on("dialog", lambda dialog: troubles.append(f"dialog: {dialog.message}"))
    await page.add_init_script(WATCH)


def heard(troubles: list[str], output: Any) -> None:
    """What the console says counts, but for requests that were rejected, which tests ask for."""
    if output.type in ("error", "warning") and "Failed to load resource" not in output.text:
        troubles.append(f"{output.type}: {output.text}")


@pytest_asyncio.fixture(loop_scope="session")
async def window(browser: Browser) -> AsyncIterator[Open]:
    """Opens windows that know nothing of each other: `await window(url, theme="dark")`."""
    contexts = []
    troubles: list[str] = []

    async def open_one(url: str, *, theme: Any = "light", watched: bool = True) -> Page:
        context = await browser.new_context(viewport=WIDE, color_scheme=theme)
        contexts.append(context)
        page = await context.new_page()
        await watch(page, troubles if watched else [])
        await page.goto(url)
        return page

    yield open_one
    for context in contexts:
        for page in context.pages:
            troubles += await page.evaluate("window.broken")
        await context.close()
    assert troubles == []


async def signed_in(browser: Browser, site: Site) -> Page:
    """The window that tests share: another page of it is shown much faster than another window is opened."""
    context = await browser.new_context(viewport=WIDE)
    page = await context.new_page()
    await watch(page, site.troubles)
    await page.goto(site.serving.url)
    await page.get_by_label("Token").fill(TOKEN)
    await page.get_by_label("Your name").fill("anna")
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    return page


@pytest_asyncio.fixture(loop_scope="session")
async def show(browser: Browser, site: Site) -> AsyncIterator[Open]:
    """Shows a place of the page to somebody who is signed in: `await show("app/channels", width=390)`."""
    if site.page is None:
        site.page = await signed_in(browser, site)
    page = site.page

    async def show_one(place: str, *, width: int = 1280, theme: Any = "light") -> Page:
        await page.set_viewport_size({**WIDE, "width": width})
        await page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        await page.goto(site.at(place))
        if await page.evaluate(LEFT_OVER):
            await page.reload()
        return page

    yield show_one
    site.troubles += await page.evaluate("window.broken")
    troubles, site.troubles[:] = list(site.troubles), []
    assert troubles == []

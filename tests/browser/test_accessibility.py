"""For everybody: two themes, narrow screens, the keyboard, screen readers."""

import re

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Page, expect

from browser.conftest import Open, Site, live
from support import first_quick

PLACES = [
    "overview",
    "channels",
    "channel/acme",
    "message",
    "dead",
    "messages",
    "messages?state=dead",
    "workers",
    "schedules",
    "history",
    "audit",
]


def place_of(site: Site, place: str) -> str:
    if place == "message":
        return f"app/message/{site.queues['app'].dead_list('acme')[0].id}"
    return f"app/{place}"


async def is_there(page: Page) -> None:
    """What was asked for has come."""
    await expect(page.locator("main h1")).to_be_visible()
    await expect(live(page)).to_be_visible()
    await expect(page.locator("[aria-busy]")).to_have_count(0)


async def grave(page: Page) -> list[str]:
    """What axe finds that is serious or critical."""
    found = await Axe().run(page, options={"resultTypes": ["violations"]})
    return [
        f"{each['id']}: {[node['target'] for node in each['nodes']][:3]}"
        for each in found.response["violations"]
        if each["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("place", first_quick(*PLACES))
async def test_axe_finds_nothing_serious_in_two_themes_and_widths(
    show: Open, site: Site, place: str
):
    page = await show(place_of(site, place))
    await is_there(page)
    assert await grave(page) == []
    await page.emulate_media(color_scheme="dark")
    await page.set_viewport_size({"width": 390, "height": 844})
    await is_there(page)
    assert await grave(page) == []
    assert await page.evaluate("document.documentElement.scrollWidth") == 390


async def test_axe_finds_nothing_serious_in_dialogs_and_at_the_door(
    show: Open, site: Site, window: Open
):
    page = await show("app/channel/initech")
    await page.get_by_role("button", name="Edit limits").click()
    await expect(page.get_by_role("dialog")).to_be_visible()
    assert await grave(page) == []
    await page.keyboard.press("Escape")
    await page.get_by_role("button", name="Purge waiting").click()
    await expect(page.get_by_role("dialog")).to_contain_text("7")
    assert await grave(page) == []
    door = await window(site.serving.url, theme="dark")
    await expect(door.get_by_label("Token")).to_be_visible()
    assert await grave(door) == []


async def test_axe_would_find_something(site: Site, window: Open):
    """The check can fail: a button without a name is found."""
    page = await window(site.serving.url)
    await expect(page.get_by_label("Token")).to_be_visible()
    await page.evaluate("document.querySelector('main').append(document.createElement('button'))")
    assert any(each.startswith("button-name") for each in await grave(page))


async def test_the_theme_follows_the_system_until_one_is_chosen(show: Open):
    page = await show("app/workers", theme="dark")
    colour = "getComputedStyle(document.body).backgroundColor"
    await is_there(page)
    dark = await page.evaluate(colour)
    await page.emulate_media(color_scheme="light")
    light = await page.evaluate(colour)
    assert dark != light
    await page.get_by_label("Dark").check()
    assert await page.evaluate(colour) == dark
    await page.reload()
    await is_there(page)
    assert await page.evaluate(colour) == dark
    await page.get_by_label("Auto").check()
    assert await page.evaluate(colour) == light


async def test_on_a_narrow_screen_the_pages_are_behind_a_menu(show: Open):
    page = await show("app/overview", width=390)
    await is_there(page)
    workers = page.get_by_role("link", name=re.compile("^Workers"))
    await expect(workers).to_be_hidden()
    await page.get_by_role("button", name="Menu").click()
    await workers.click()
    await expect(page.get_by_role("heading", name="Workers")).to_be_visible()
    await expect(workers).to_be_hidden()


async def press_until_focused(page: Page, locator) -> None:
    """Tab until it has the focus, which is seen."""
    for _ in range(60):
        await page.keyboard.press("Tab")
        if await locator.evaluate("element => element === document.activeElement"):
            break
    await expect(locator).to_be_focused()
    assert await locator.evaluate("element => getComputedStyle(element).outlineStyle") == "solid"


async def test_all_can_be_done_with_the_keyboard(show: Open):
    page = await show("app/overview")
    await is_there(page)
    await press_until_focused(page, page.get_by_role("link", name="Skip to content"))
    await page.keyboard.press("Enter")
    await expect(page.locator("main")).to_be_focused()
    await page.keyboard.press("Shift+Tab")
    await page.reload()
    await press_until_focused(page, page.get_by_role("link", name="Channels", exact=True))
    await page.keyboard.press("Enter")
    await expect(page.locator("h1", has_text="Channels")).to_be_focused()
    await press_until_focused(page, page.get_by_label("Search by name"))
    await page.keyboard.type("initech")
    initech = page.get_by_role("link", name="initech")
    await expect(page.get_by_role("table", name="Channels").get_by_role("row")).to_have_count(2)
    await press_until_focused(page, initech)
    await page.keyboard.press("Enter")
    await expect(page.locator("h1", has_text="initech")).to_be_focused()
    purge = page.get_by_role("button", name="Purge waiting")
    await press_until_focused(page, purge)
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("button", name="Close")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(purge).to_be_focused()

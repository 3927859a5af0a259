"""Ranges of time and zoom, keys, filters of the audit log, jitter, and how long a backlog takes."""

import re

from playwright.async_api import expect

from browser.conftest import Open, Site
from browser.test_accessibility import grave
from browser.test_actions import confirm


async def test_a_chart_is_zoomed_by_dragging_and_by_keys_and_back(show: Open):
    page = await show("app/overview")
    plot = page.get_by_role("img", name=re.compile("^Messages in and out")).first
    await expect(plot).to_be_visible()
    await page.get_by_label("6 hours").check()
    await expect(page.get_by_role("heading", name="The last 6 hours")).to_be_visible()
    await plot.scroll_into_view_if_needed()
    box = await plot.bounding_box()
    assert box is not None
    await page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 60)
    await page.mouse.down()
    await page.mouse.move(box["x"] + box["width"] * 0.9, box["y"] + 60, steps=4)
    await page.mouse.up()
    await expect(page.get_by_role("heading", name=re.compile(" to "))).to_be_visible()
    await expect(plot).to_be_visible()
    await plot.focus()
    await plot.press("+")
    await expect(page.get_by_role("heading", name=re.compile(" to "))).to_be_visible()
    await page.get_by_role("button", name="Reset zoom").click()
    await expect(page.get_by_role("heading", name="The last 6 hours")).to_be_visible()


async def test_keys_go_to_pages_and_to_the_search_and_can_be_switched_off(show: Open):
    page = await show("app/overview")
    await page.locator("main").press("c")
    await expect(page.get_by_role("heading", name="Channels", exact=True)).to_be_visible()
    await page.locator("main").press("/")
    await expect(page.get_by_label("Search by name")).to_be_focused()
    await page.keyboard.type("mo")  # typing goes nowhere
    await expect(page.get_by_label("Search by name")).to_have_value("mo")
    await page.locator("main").press("?")
    dialog = page.get_by_role("dialog")
    await expect(dialog).to_contain_text("Stop or start updates")
    assert await grave(page) == []
    await dialog.get_by_label("Keys are on").uncheck()
    await dialog.get_by_role("button", name="Close").click()
    await page.locator("main").press("d")
    await expect(page.get_by_role("heading", name="Channels", exact=True)).to_be_visible()
    await page.get_by_role("button", name="Keys").click()
    await dialog.get_by_label("Keys are on").check()
    await dialog.get_by_role("button", name="Close").click()


async def test_the_audit_log_is_filtered_by_user_action_and_subject(show: Open, site: Site):
    site.queues["app"].create("audited", b"x")
    page = await show("app/channel/audited")
    await page.get_by_role("button", name="Pause").click()
    await confirm(page, "Pause", "audited")
    await page.get_by_role("button", name="Resume").click()
    await confirm(page, "Resume", "audited")
    await page.goto(site.at("app/audit"))
    rows = page.get_by_role("table", name="Audit log").get_by_role("rowheader")
    await page.get_by_label("Subject").fill("audited")
    await page.get_by_role("button", name="Filter").click()
    await expect(rows).to_have_text(["resume", "pause"])
    await page.get_by_role("combobox", name="Action").select_option("pause")
    await expect(rows).to_have_text(["pause"])
    await page.get_by_role("searchbox", name="User").fill("nobody of this name")
    await page.get_by_role("button", name="Filter").click()
    await expect(page.get_by_text("No entry matches")).to_be_visible()


async def test_the_jitter_of_a_channel_is_edited(show: Open, site: Site):
    site.queues["app"].channel_set("jittery", retry_jitter=0.5)
    page = await show("app/channel/jittery")
    await expect(page.get_by_text("Drains in")).to_be_visible()
    await page.get_by_role("button", name="Edit limits").click()
    await page.get_by_label("Retry jitter").fill("0.25")
    await expect(page.get_by_role("dialog")).to_contain_text("retry_jitter from 0.5 to 0.25")
    await page.get_by_role("button", name="Change limits").click()
    await expect(page.get_by_role("dialog")).to_have_count(0)
    assert site.queues["app"].channel_stats("jittery")[0].retry_jitter == 0.25

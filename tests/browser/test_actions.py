"""Every action asks, says what will happen, does it, reports it, and is in the audit log."""

import re

import pytest
from playwright.async_api import Page, expect
from starlette.applications import Starlette
from starlette.routing import Mount

from browser.conftest import TOKEN, Open, Site, live
from browser.server import serving
from lonnymq import Queue
from lonnymq.dashboard import create_app
from support import eventually


@pytest.fixture
def tenant(site: Site, request: pytest.FixtureRequest) -> str:
    """A channel of the test's own with three messages, which no dequeue has looked at."""
    name = f"tenant of {request.node.name}"[:100]
    site.queues["app"].channel_set(name)
    site.queues["app"].create_many([b"job"] * 3, channel=name)
    return name


async def confirm(page: Page, verb: str, will: str) -> None:
    """What the dialog says it will do, and yes."""
    dialog = page.get_by_role("dialog")
    await expect(dialog).to_contain_text(re.compile(will))
    await dialog.get_by_role("button", name=verb, exact=True).click()
    await expect(dialog).to_have_count(0)
    await expect(page.locator(".toast").last).to_be_visible()


async def is_in_the_audit_log(page: Page, action: str, subject: str) -> None:
    await page.get_by_role("link", name="Audit").click()
    entry = page.get_by_role("row", name=re.compile(f"^{action}.*anna.*{re.escape(subject)}"))
    await expect(entry.first).to_be_visible()


async def test_a_channel_is_paused_and_resumed(show: Open, site: Site, tenant: str):
    page = await show(f"app/channel/{tenant}")
    await page.get_by_role("button", name="Pause").click()
    await confirm(page, "Pause", tenant)
    await expect(page.get_by_role("button", name="Resume")).to_be_visible()
    assert site.queues["app"].channel_stats(tenant)[0].paused
    await page.get_by_role("button", name="Resume").click()
    await confirm(page, "Resume", tenant)
    await expect(page.get_by_role("button", name="Pause")).to_be_visible()
    assert not site.queues["app"].channel_stats(tenant)[0].paused
    await is_in_the_audit_log(page, "resume", tenant)
    await is_in_the_audit_log(page, "pause", tenant)


async def test_limits_are_set_and_what_they_mean_is_said_before(
    show: Open, site: Site, tenant: str
):
    page = await show(f"app/channel/{tenant}")
    await page.get_by_role("button", name="Edit limits").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_role("button", name="Change limits")).to_be_disabled()
    await dialog.get_by_label("Maximum running").fill("4")
    await dialog.get_by_label("Minimum milliseconds").fill("250")
    await confirm(page, "Change limits", "max_concurrency|at once|4")
    await expect(page.get_by_text("4 running")).to_be_visible()
    await expect(page.get_by_text("one message every 250 ms")).to_be_visible()
    stats = site.queues["app"].channel_stats(tenant)[0]
    assert (stats.max_concurrency, stats.min_interval_ms) == (4, 250)
    await is_in_the_audit_log(page, "set limits", tenant)


async def test_a_limit_that_the_queue_refuses_is_explained_and_nothing_is_set(
    show: Open, site: Site, tenant: str
):
    page = await show(f"app/channel/{tenant}")
    await page.get_by_role("button", name="Edit limits").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Weight").fill("5000")
    await expect(dialog.locator(".notice.bad")).to_contain_text("weight")
    await expect(dialog.get_by_role("button", name="Change limits")).to_be_disabled()
    await dialog.get_by_role("button", name="Close").click()
    await expect(dialog).to_have_count(0)
    assert site.queues["app"].channel_stats(tenant)[0].weight == 1


async def test_what_waits_in_a_channel_is_purged(show: Open, site: Site, tenant: str):
    page = await show(f"app/channel/{tenant}")
    await page.get_by_role("button", name="Purge waiting").click()
    await confirm(page, "Delete", "3")
    await expect(page.locator(".toast")).to_contain_text("3")
    await expect(page.get_by_text("No messages are waiting or running")).to_be_visible()
    assert site.queues["app"].peek(tenant) == []
    await is_in_the_audit_log(page, "purge", tenant)


async def test_a_dialog_that_is_left_does_nothing_and_gives_the_focus_back(
    show: Open, site: Site, tenant: str
):
    page = await show(f"app/channel/{tenant}")
    button = page.get_by_role("button", name="Purge waiting")
    await button.click()
    await expect(page.get_by_role("dialog")).to_contain_text("3")
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await expect(button).to_be_focused()
    assert len(site.queues["app"].peek(tenant)) == 3


async def test_a_message_is_cancelled(show: Open, site: Site, tenant: str):
    message = site.queues["app"].peek(tenant)[0]
    page = await show(f"app/message/{message.id}")
    await page.get_by_role("button", name="Cancel").click()
    await confirm(page, "Cancel message", str(message.id))
    await expect(page.get_by_text("Message cancelled")).to_be_visible()
    assert site.queues["app"].status(message.id).state == "cancelled"
    await is_in_the_audit_log(page, "cancel", str(message.id))


@pytest.fixture
def dead(site: Site) -> list[int]:
    """Two dead messages with an error of their own, in the queue that means harm to nobody else's tests."""
    queue = site.queues["billing"]
    queue.create_many([b"bill"] * 2, channel="acme")
    batch = queue.dequeue(limit=10)
    for message in batch:
        message.fail("KeyError: 'amount'", dead=True)
    return [message.id for message in batch]


async def test_a_dead_message_is_redriven(show: Open, site: Site, dead: list[int]):
    page = await show(f"billing/message/{dead[0]}")
    await page.get_by_role("button", name="Redrive").click()
    await confirm(page, "Redrive", "1|again")
    await expect(page.get_by_role("heading", name=re.compile("waiting"))).to_be_visible()
    await is_in_the_audit_log(page, "redrive", "")
    site.queues["billing"].cancel(dead[0])
    site.queues["billing"].dead_purge(channel="*")


async def test_the_dead_of_one_error_are_redriven_after_a_look_at_how_many(
    show: Open, site: Site, dead: list[int]
):
    page = await show("billing/dead")
    row = page.get_by_role("row", name=re.compile("KeyError"))
    await row.get_by_role("button", name="Redrive").click()
    await confirm(page, "Redrive", "2")
    await expect(page.get_by_text("No dead messages")).to_be_visible()
    assert site.queues["billing"].dead_ids() == []
    assert site.queues["billing"].purge("acme") == 2


async def test_the_dead_of_one_error_are_purged_after_a_look_at_how_many(
    show: Open, site: Site, dead: list[int]
):
    page = await show("billing/dead")
    await page.get_by_role("link", name=re.compile("KeyError")).click()
    await page.get_by_role("button", name="Purge these").click()
    await confirm(page, "Delete", "2")
    await expect(page.get_by_text("No messages with this error are left")).to_be_visible()
    assert site.queues["billing"].dead_ids() == []
    await is_in_the_audit_log(page, "purge dead", "")


async def test_the_dead_of_one_channel_are_redriven(show: Open, site: Site, dead: list[int]):
    page = await show("billing/dead?channel=acme")
    await page.get_by_role("button", name="Redrive found messages").click()
    await confirm(page, "Redrive", "2")
    await expect(page.get_by_text("No dead message matches")).to_be_visible()
    assert site.queues["billing"].purge("acme") == 2


async def test_all_that_is_dead_is_purged(show: Open, site: Site, dead: list[int]):
    page = await show("billing/dead")
    await page.get_by_role("button", name="Purge all").click()
    await confirm(page, "Delete", "2")
    await expect(page.get_by_text("No dead messages")).to_be_visible()
    assert site.queues["billing"].dead_ids() == []


async def test_a_schedule_is_run_now_paused_and_resumed(show: Open, site: Site):
    queue = site.queues["app"]
    queue.schedule_set("by hand", channel="by hand", kind="report", every_ms=3_600_000)
    page = await show("app/schedules")
    row = page.get_by_role("row", name=re.compile("^by hand"))
    await row.get_by_role("button", name="Run now").click()
    await confirm(page, "Run now", "by hand")
    assert [each.kind for each in queue.peek("by hand")] == ["report"]
    await row.get_by_role("button", name="Pause").click()
    await confirm(page, "Pause", "by hand")
    await row.get_by_role("button", name="Resume").click()
    await confirm(page, "Resume", "by hand")
    await expect(row.get_by_role("button", name="Pause")).to_be_visible()
    await is_in_the_audit_log(page, "run schedule", "by hand")
    queue.schedule_delete("by hand")


async def test_a_wrong_token_is_refused_and_says_so(site: Site, window: Open):
    page = await window(site.serving.url)
    await page.get_by_label("Token").fill("not the token of this page")
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_text("The token is wrong.")).to_be_visible()
    await expect(page.get_by_role("navigation")).to_have_count(0)


async def test_who_signs_out_sees_nothing_more(site: Site, window: Open):
    page = await window(site.serving.url)
    await page.get_by_label("Token").fill(TOKEN)
    await page.get_by_role("button", name="Sign in").click()
    await page.get_by_role("button", name="Sign out").click()
    await expect(page.get_by_label("Token")).to_be_visible()
    await expect(page.get_by_text("northwind-media")).to_have_count(0)


async def test_a_session_that_has_ended_leads_to_the_door(site: Site, window: Open):
    page = await window(site.serving.url)
    await page.get_by_label("Token").fill(TOKEN)
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    await page.context.clear_cookies()
    await expect(page.get_by_label("Token")).to_be_visible()


async def test_where_the_host_app_signs_people_in_the_page_says_so(site: Site, window: Open):
    def make() -> Starlette:
        return create_app({"app": site.dsns["app"]}, authenticate=lambda _: None)

    with serving(make) as server:
        page = await window(server.url)
        await expect(page.get_by_text("Please sign in")).to_be_visible()
        await expect(page.get_by_label("Token")).to_have_count(0)


async def test_without_actions_there_is_no_button_for_any(site: Site, window: Open):
    with serving(lambda: create_app({"app": site.dsns["app"]})) as server:
        page = await window(f"{server.url}#/app/channel/acme")
        await expect(page.get_by_role("table", name="Messages")).to_be_visible()
        for name in ("Pause", "Edit limits", "Purge waiting"):
            await expect(page.get_by_role("button", name=name)).to_have_count(0)
        for place in ("dead", "schedules"):
            await page.goto(f"{server.url}#/app/{place}")
            await expect(page.get_by_role("table")).to_be_visible()
            buttons = page.locator("main").get_by_role(
                "button", name=re.compile("Redrive|Purge|Run|Pause")
            )
            await expect(buttons).to_have_count(0)


async def test_the_page_works_under_any_path(site: Site, window: Open):
    def outer() -> Starlette:
        return Starlette(routes=[Mount("/ops/queue", app=create_app({"app": site.dsns["app"]}))])

    with serving(outer) as server:
        page = await window(f"{server.url}ops/queue/#/app/channels")
        await expect(page.get_by_role("table", name="Channels")).to_contain_text("acme")
        await expect(live(page)).to_be_visible()


def test_what_is_named_here_is_real(site: Site):
    """The queue of these tests keeps its invariants, whatever was clicked."""
    eventually(lambda: Queue(site.dsns["app"]).check() == [])

"""Messages of all channels: found, selected, cancelled, edited, with result and progress."""

import json
import re

from playwright.async_api import expect

from browser.conftest import Open, Site
from browser.test_actions import confirm
from support import message_id


async def test_messages_are_found_by_state_key_and_field_and_the_search_is_in_the_address(
    show: Open, site: Site
):
    queue = site.queues["app"]
    content = json.dumps({"order": {"id": 4711}}).encode()
    wanted = message_id(queue.create("find-me", content, key="order-4711", kind="mail"))
    page = await show("app/messages")
    rows = page.get_by_role("table", name="Messages found").get_by_role("rowheader")
    await expect(rows.first).to_be_visible()
    await page.get_by_label("Content field").fill("order.id")
    await page.get_by_label("Value").fill("4711")
    await page.get_by_role("button", name="Search").click()
    await expect(page).to_have_url(re.compile("field=order.id"))
    await expect(rows).to_have_text([str(wanted)])
    await expect(page.get_by_role("navigation", name="Pages").last).to_contain_text("looked at")
    await page.goto(site.at("app/messages?key=order-4711&channel=find-me"))
    await expect(rows).to_have_text([str(wanted)])
    await expect(page.get_by_text("1 message looked at")).to_be_visible()
    await page.get_by_label("State").select_option("scheduled")
    await expect(page.get_by_text("No message matches")).to_be_visible()
    queue.cancel(wanted)


async def test_selected_messages_are_cancelled_and_the_others_stay(show: Open, site: Site):
    queue = site.queues["app"]
    ids = [message_id(queue.create("choose-me", b"{}")) for _ in range(3)]
    page = await show("app/messages?channel=choose-me")
    for each in ids[:2]:
        await page.get_by_label(f"Select message {each}").check()
    await expect(page.get_by_text("2 messages selected")).to_be_visible()
    await (
        page.get_by_role("group", name="Selected messages")
        .get_by_role("button", name="Cancel")
        .click()
    )
    await confirm(page, "Cancel messages", "2 messages will be deleted")
    rows = page.get_by_role("table", name="Messages found").get_by_role("rowheader")
    await expect(rows).to_have_text([str(ids[2])])
    queue.cancel(ids[2])


async def test_a_worker_links_to_the_messages_that_it_runs(show: Open):
    page = await show("app/workers")
    await page.get_by_role("link", name=re.compile("running, show them")).first.click()
    await expect(page.get_by_label("State")).to_have_value("running")
    await expect(page.get_by_label("Worker", exact=True)).not_to_have_value("")


async def test_a_dead_message_is_edited_and_queued_again(show: Open, site: Site):
    queue = site.queues["app"]
    queue.channel_set("edit-me", max_attempts=1)
    queue.create("edit-me", b'{"rows": 7}')
    (message,) = queue.dequeue(1, channels=["edit-me"])
    queue.fail(message, error="ValueError: 7")
    page = await show(f"app/message/{message.id}")
    await page.get_by_role("button", name="Edit and requeue").click()
    await page.get_by_role("textbox", name="Content").fill('{"rows": 8}')
    await page.get_by_role("button", name="Preview").click()
    await expect(page.get_by_role("dialog")).to_contain_text("11 bytes")
    await page.get_by_role("button", name="Replace").click()
    await expect(page.get_by_role("table", name="Messages found")).to_contain_text('{"rows": 8}')
    assert queue.dead_list("edit-me") == []
    queue.purge("edit-me")


async def test_the_progress_and_the_result_of_a_message_are_on_its_page(show: Open, site: Site):
    queue = site.queues["app"]
    queue.create("result-me", b"{}")
    (message,) = queue.dequeue(1, channels=["result-me"])
    queue.heartbeat(message, progress=0.4, note="rendering")
    page = await show(f"app/message/{message.id}")
    await expect(page.get_by_role("progressbar")).to_have_attribute("value", "40")
    await expect(page.get_by_text("rendering")).to_be_visible()
    queue.complete(message, result=b'{"frames": 24}')
    await expect(page.get_by_role("heading", name="Result")).to_be_visible()
    await expect(page.get_by_label("Result", exact=True)).to_contain_text('"frames": 24')

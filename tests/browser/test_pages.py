"""Every page shows what is in the queue."""

import re
from functools import partial
from pathlib import Path

import pytest
from playwright.async_api import expect

from browser.conftest import TOKEN, Open, Site
from browser.server import serving
from lonnymq.dashboard import create_app
from lonnymq.report.page import render_page as report_page
from report.sample_document import document

PAGES = ["overview", "channels", "dead", "workers", "schedules", "history", "audit"]


async def test_the_overview_has_the_figures_the_turns_and_the_charts(show: Open):
    page = await show("app/overview")
    figures = page.get_by_label("Figures, live")
    await expect(figures).to_contain_text("Waiting")
    for name in ("In", "Out", "Oldest waiting", "Running", "Dead", "Live workers"):
        await expect(figures.get_by_text(name, exact=True)).to_be_visible()
    await expect(
        page.get_by_role("img", name=re.compile("Waiting: .*northwind-media"))
    ).to_be_visible()
    await expect(
        page.get_by_role("img", name=re.compile("Messages in and out.*highest"))
    ).to_be_visible()
    busiest = page.get_by_role("table", name="Busiest channels")
    await expect(busiest.get_by_role("row", name=re.compile("acme at limit"))).to_be_visible()


async def test_the_tenants_in_trouble_come_first_with_the_reason_and_what_to_do(
    show: Open, site: Site
):
    page = await show("app/overview")
    table = page.get_by_role("table", name="What needs attention")
    row = table.get_by_role("row", name=re.compile("^initech paused"))
    await expect(row).to_contain_text("Paused, and 7 messages are due.")
    await row.get_by_role("button", name="Resume").click()
    await expect(page.get_by_role("dialog")).to_contain_text("7 waiting messages")
    await page.get_by_role("button", name="Close").click()
    first = await page.locator("main section").first.get_attribute("aria-labelledby")
    assert first == "attention"


async def test_one_goes_to_a_message_by_its_id(show: Open, site: Site):
    message = site.queues["app"].peek("acme")[0]
    page = await show("app/overview")
    await page.get_by_label("Message id").fill(str(message.id))
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name=f"Message {message.id}")).to_be_visible()


async def test_back_returns_to_the_list_as_it_was(show: Open):
    page = await show("app/channels")
    await page.get_by_label("Sort by").select_option("name")
    await expect(page).to_have_url(re.compile("sort=name"))
    await page.get_by_label("Sort by").select_option("failing")
    await page.go_back()
    await expect(page).to_have_url(re.compile("sort=name"))
    await page.get_by_role("link", name="acme", exact=True).click()
    await expect(page.get_by_role("heading", name=re.compile("acme"))).to_be_visible()
    await page.go_back()
    await expect(page.get_by_label("Sort by")).to_have_value("name")


async def test_the_second_page_of_messages_has_an_address(show: Open):
    page = await show("app/channel/northwind-media")
    first = page.get_by_role("table", name="Messages").get_by_role("rowheader").first
    before = await first.inner_text()
    await page.get_by_role("button", name="Next page").click()
    await expect(page).to_have_url(re.compile("cursor="))
    await expect(first).not_to_have_text(before)
    text = await first.inner_text()
    await page.reload()
    await expect(first).to_have_text(text)
    await page.go_back()
    await expect(page.get_by_role("button", name="First page")).to_have_count(0)


async def test_nothing_moves_while_one_reads_or_has_stopped_the_updates(show: Open, site: Site):
    page = await show("app/overview")
    await expect(page.get_by_role("table", name="Busiest channels")).to_be_visible()
    await page.evaluate("scrollTo(0, 600)")
    state = page.locator(".link-state:visible")
    await expect(state).to_have_text("Live, held while you read")
    await page.evaluate("scrollTo(0, 0)")
    await expect(state).to_have_text("Live")
    await page.get_by_role("button", name="Stop updates").click()
    await expect(state).to_have_text("Updates stopped")
    await page.get_by_role("button", name="Start updates").click()


async def test_the_charts_are_also_a_table_and_can_be_read_with_the_arrow_keys(show: Open):
    page = await show("app/overview")
    chart = page.get_by_role("img", name=re.compile("Waiting messages"))
    await chart.focus()
    await page.keyboard.press("ArrowLeft")
    figure = page.locator("figure").filter(has=chart)
    await expect(figure.locator(".legend .at")).not_to_have_text("latest")
    await figure.get_by_text("Show as table").click()
    rows = figure.get_by_role("table").get_by_role("row")
    await expect(rows.first).to_contain_text("waiting")
    assert await rows.count() > 10


async def test_the_charts_show_a_day_instead_of_an_hour(show: Open):
    page = await show("app/overview")
    await page.get_by_label("Day").check()
    await expect(page.get_by_role("heading", name="The last day")).to_be_visible()
    await expect(page.get_by_role("img", name=re.compile("Waiting messages"))).to_be_visible()


async def test_a_channel_says_how_it_stands_and_why_it_is_held(show: Open):
    page = await show("app/channels")
    rows = page.get_by_role("table", name="Channels")
    for name, state in [("acme", "at limit"), ("globex", "throttled"), ("initech", "paused")]:
        await expect(rows.get_by_role("row", name=re.compile(f"^{name} {state}"))).to_be_visible()
    await rows.get_by_role("link", name="acme").click()
    await expect(page.get_by_role("heading", name=re.compile("acme"))).to_be_visible()
    await expect(page.get_by_text("2 of 2 are running").first).to_be_visible()
    messages = page.get_by_role("table", name="Messages")
    await expect(
        messages.get_by_role("row", name=re.compile("running by videos-web-1-812")).first
    ).to_be_visible()


async def test_a_ranking_says_that_it_has_not_seen_all_channels(show: Open):
    page = await show("app/channels?sort=running")
    output = page.get_by_text(
        re.compile(r"^\d+ of \d+ channels are ranked: channels of the latest 2,000 leases")
    )
    await expect(output).to_be_visible()
    await page.get_by_role("button", name="List all by name").click()
    await expect(output).to_have_count(0)
    await expect(page.get_by_role("link", name="umbrella")).to_be_visible()


async def test_a_channel_has_charts_of_its_last_hour_and_day(show: Open):
    page = await show("app/channel/acme")
    ended = page.get_by_role(
        "img", name=re.compile("Finished attempts.*completed [^a-z]*now, highest [1-9]")
    )
    await expect(ended).to_be_visible()
    await page.get_by_label("Day").check()
    await expect(page.get_by_role("heading", name="The last day")).to_be_visible()
    await expect(ended).to_be_visible()
    await expect(
        page.get_by_role("img", name=re.compile("Mean waiting.*ran [1-9]"))
    ).to_be_visible()


async def test_channels_are_sorted_and_filtered_by_the_server(show: Open):
    page = await show("app/channels")
    rows = page.get_by_role("table", name="Channels").get_by_role("row")
    await expect(rows.nth(1)).to_contain_text("northwind-media")
    waiting = await rows.locator("td:nth-child(3) > span:first-child").all_inner_texts()
    numbers = [int(text.strip("≈ ").replace(",", "")) for text in waiting]
    assert numbers == sorted(numbers, reverse=True)
    await page.get_by_role("button", name="Channel", exact=True).click()
    await expect(rows.nth(1)).to_contain_text("acme")
    await expect(page.get_by_role("columnheader", name="Channel")).to_have_attribute(
        "aria-sort", "ascending"
    )
    await page.get_by_label("State").select_option("paused")
    await expect(rows).to_have_count(2)
    await expect(rows.nth(1)).to_contain_text("initech")


async def test_a_message_says_in_words_why_it_waits(show: Open, site: Site):
    waiting = next(each for each in site.queues["app"].peek("acme", limit=10) if not each.leased)
    page = await show(f"app/message/{waiting.id}")
    await expect(page.get_by_label("Explanation")).to_contain_text(
        "The channel is at its limit: 2 of 2 messages are running."
    )
    await expect(page.get_by_role("region", name="Content")).to_contain_text('"codec": "av1"')
    await page.get_by_label("Hex").check()
    await expect(page.get_by_role("region", name="Content")).to_contain_text("7b 22 76 69")
    await expect(page.get_by_role("heading", name="Timeline")).to_be_visible()


async def test_a_dead_message_shows_its_attempts_with_their_tracebacks(show: Open, site: Site):
    dead = site.queues["app"].dead_list("acme")[0]
    page = await show(f"app/message/{dead.id}")
    await expect(page.locator(".notice").get_by_text("Dead", exact=True)).to_be_visible()
    await expect(page.get_by_role("region", name="Error of attempt 2")).to_contain_text(
        "in read_frames"
    )
    await expect(page.get_by_role("listitem").filter(has_text="Attempt 1").first).to_contain_text(
        "failed"
    )
    await expect(page.get_by_role("region", name="Headers")).to_contain_text('"tenant": "acme"')


async def test_dead_messages_are_grouped_by_error(show: Open):
    page = await show("app/dead")
    groups = page.get_by_role("table", name="Dead messages by error")
    await expect(
        groups.get_by_role("row", name=re.compile("ConnectionRefusedError"))
    ).to_contain_text("globex")
    await groups.get_by_role("link", name=re.compile("ValueError: cannot parse")).click()
    messages = page.get_by_role("table", name="Dead messages")
    await expect(messages.get_by_role("row").nth(1)).to_contain_text("encode")
    await messages.get_by_role("link").first.click()
    await expect(page.locator(".notice").get_by_text("Dead", exact=True)).to_be_visible()


async def test_dead_messages_can_be_narrowed_to_a_channel(show: Open):
    page = await show("app/dead")
    await page.get_by_label("Channel").fill("globex")
    await page.get_by_role("button", name="Filter").click()
    await expect(page.get_by_role("table").get_by_role("row")).to_have_count(2)
    await expect(page.get_by_role("table")).to_contain_text("ConnectionRefusedError")


async def test_workers_are_listed_with_what_they_are_at(show: Open):
    page = await show("app/workers")
    await expect(
        page.get_by_role("row", name=re.compile("videos-web-2-813 alive.*20 of 20"))
    ).to_be_visible()
    await expect(page.get_by_role("row", name=re.compile("mail-web-2-77 silent"))).to_be_visible()


async def test_schedules_say_when_and_what(show: Open):
    page = await show("app/schedules")
    await expect(
        page.get_by_role("row", name=re.compile("nightly-report.*0 3.*Berlin.*house"))
    ).to_be_visible()
    await expect(page.get_by_role("row", name=re.compile("newsletter.*paused"))).to_be_visible()


async def test_history_says_what_to_do_where_no_report_is_configured(
    site: Site, show: Open, window: Open, tmp_path: Path
):
    page = await show("app/history")
    await expect(page.get_by_text("No report is configured")).to_be_visible()
    await expect(page.get_by_text("lonnymq report --lake")).to_be_visible()
    with serving(lambda: create_app({"app": site.dsns["app"]}, lake=tmp_path)) as server:
        page = await window(f"{server.url}#/app/history")
        await expect(page.get_by_text("No report yet")).to_be_visible()
        await expect(page.get_by_text(f"There is no report in {tmp_path} yet.")).to_be_visible()


async def test_history_shows_the_latest_report_in_a_frame_that_reaches_nothing(
    site: Site, window: Open, tmp_path: Path
):
    (tmp_path / "report.html").write_text(REPORT)
    make = partial(create_app, {"app": site.dsns["app"]}, token=TOKEN, report=tmp_path)
    with serving(make) as server:
        page = await window(f"{server.url}#/app/history", watched=False)  # its console is told of
        await page.get_by_label("Token").fill(TOKEN)
        await page.get_by_role("button", name="Sign in").click()
        frame = page.frame_locator("iframe[title='Report: report']")
        await expect(frame.get_by_role("heading", name="Waits by tenant")).to_be_visible()
        await expect(frame.locator("#drawn")).to_have_text("drawn by a script")
        await expect(frame.locator("#drawn")).to_have_css("color", "rgb(1, 2, 3)")
        await expect(frame.locator("#picture")).to_have_js_property("naturalWidth", 40)
        await expect(frame.locator("#parent")).to_have_text("SecurityError")
        await expect(frame.locator("#cookie")).to_have_text("SecurityError")
        await expect(frame.locator("#asked")).to_have_text("rejected")
        assert await page.evaluate("document.title") != "changed"


@pytest.mark.long
@pytest.mark.parametrize(("theme", "chosen"), [("light", None), ("dark", None), ("light", "dark")])
async def test_history_shows_a_real_report_with_its_charts(
    site: Site, window: Open, tmp_path: Path, theme: str, chosen: str | None
):
    """The report's own rules and those that it is shown under let it be drawn; nothing is rejected to it."""
    (tmp_path / "report.html").write_text(report_page(document(tenants=12, hours=24)), "utf-8")
    with serving(lambda: create_app({"app": site.dsns["app"]}, report=tmp_path)) as server:
        page = await window(f"{server.url}#/app/history", theme=theme)
        if chosen is not None:
            await page.evaluate("theme => localStorage.setItem('lonnymq.theme', theme)", chosen)
            await page.reload()
        frame = page.frame_locator("iframe[title='Report: report']")
        await expect(frame.get_by_role("heading", name="Queue report")).to_be_visible()
        await expect(frame.locator("svg, canvas").first).to_be_attached()
        page_colour, report_colour = [
            await each.locator("body").evaluate("body => getComputedStyle(body).backgroundColor")
            for each in (page, frame)
        ]
        assert page_colour == report_colour


async def test_another_theme_recolours_the_report_where_the_reader_is(
    site: Site, window: Open, tmp_path: Path
):
    (tmp_path / "report.html").write_text(report_page(document(tenants=12, hours=24)), "utf-8")
    with serving(lambda: create_app({"app": site.dsns["app"]}, report=tmp_path)) as server:
        page = await window(f"{server.url}#/app/history")
        frame = page.frame_locator("iframe[title='Report: report']")
        body = frame.locator("body")
        await expect(frame.locator("html[data-ready]")).to_be_attached()
        await expect(frame.get_by_role("radiogroup", name="Theme")).to_have_count(0)
        await body.evaluate("body => { body.dataset.stays = 'yes' }")
        for theme, colour in (("Dark", "rgb(18, 20, 22)"), ("Light", "rgb(244, 242, 236)")):
            await page.get_by_label(theme).check()
            await expect(body).to_have_css("background-color", colour)
            await expect(page.locator("body")).to_have_css("background-color", colour)
        await page.emulate_media(color_scheme="dark")
        await page.get_by_label("Auto").check()
        await expect(body).to_have_css("background-color", "rgb(18, 20, 22)")
        await expect(body).to_have_attribute("data-stays", "yes")


async def test_history_shows_pictures_that_lie_beside_a_report(
    site: Site, window: Open, tmp_path: Path
):
    picture = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"><script>alert(1)</script></svg>'
    (tmp_path / "waiting-by-tenant.svg").write_text(picture)
    (tmp_path / "index.html").write_text("<h1>All of it</h1>")
    with serving(lambda: create_app({"app": site.dsns["app"]}, lake=tmp_path)) as server:
        page = await window(f"{server.url}#/app/history")
        shown = page.get_by_role("img", name="Waiting by tenant")
        await expect(shown).to_have_js_property("naturalWidth", 40)
        await expect(page.get_by_role("link", name="Open the report")).to_have_attribute(
            "href", f"{server.url}report/"
        )


REPORT = """<!doctype html><title>Report</title><style>#drawn { color: rgb(1, 2, 3) }</style>
<h1>Waits by tenant</h1><p id="drawn"></p><p id="parent"></p><p id="cookie"></p><p id="asked"></p>
<img id="picture" alt="" src="data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' width='40' height='20'/>">
<script>
const say = (id, text) => { document.getElementById(id).textContent = text };
const tried = (id, work) => { try { work(); say(id, "done") } catch (error) { say(id, error.name) } };
say("drawn", "drawn by a script");
tried("parent", () => { parent.document.title = "changed" });
tried("cookie", () => document.cookie);
fetch(new URL("../api/session", location)).then(() => say("asked", "answered"), () => say("asked", "rejected"));
</script>
"""


@pytest.mark.parametrize("place", ["channels", "dead", "workers", "schedules", "audit"])
async def test_an_empty_queue_says_what_to_do(show: Open, place: str):
    page = await show(f"idle/{place}")
    await expect(page.locator(".empty strong")).to_be_visible()
    await expect(page.locator(".empty p").first).not_to_be_empty()


async def test_a_message_that_is_gone_is_said_to_be(show: Open):
    page = await show("app/message/999999999")
    await expect(page.get_by_role("alert").filter(has_text="Not found")).to_be_visible()


async def test_times_are_in_the_reader_s_zone_with_the_exact_value_on_hover(show: Open):
    page = await show("app/workers")
    seen = page.get_by_role("row", name=re.compile("videos-web-1")).locator("time").last
    await expect(seen).to_have_attribute("datetime", re.compile(r"^\d{4}-\d\d-\d\dT[\d:.]+Z$"))
    await expect(seen).to_have_attribute("title", re.compile(r"· \d{13}$"))
    await expect(seen).to_have_text(re.compile("ago|now"))


async def test_a_queue_is_chosen_among_several(show: Open):
    page = await show("app/overview")
    await page.get_by_label("Queue", exact=True).select_option("idle")
    await expect(page.get_by_text("No messages are waiting or running")).to_be_visible()
    assert "#/idle/overview" in page.url
    await page.get_by_label("Queue", exact=True).select_option("app")
    await expect(page.get_by_role("table", name="Busiest channels")).to_contain_text(
        "northwind-media"
    )


async def test_a_queue_that_is_not_installed_says_how_to_install_it(show: Open):
    page = await show("bare/channels")
    await expect(page.get_by_text("The queue is not installed")).to_be_visible()
    await expect(page.locator(".empty").get_by_text("lonnymq install")).to_be_visible()

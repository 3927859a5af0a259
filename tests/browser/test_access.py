"""What users with fewer rights see: no buttons and no pages that they may not use, and nothing of other tenants."""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from browser.conftest import Open, Site, live
from browser.server import Serving, serving
from browser.test_accessibility import grave
from dashboard.oidc_provider import CLIENT, SECRET, Provider
from dashboard.server import served
from dashboard.test_oidc import FILE as OIDC_FILE
from lonnymq.dashboard import create_app

FILE = """
[tokens]
anna = "{anna}"
bert = "{bert}"

[[grant]]
user = "anna"
role = "view"

[[grant]]
user = "bert"
role = "act"
channels = ["acme", "glob*"]
payloads = "hidden"
"""


@pytest.fixture
def guarded(site: Site, tmp_path: Path) -> Iterator[Serving]:
    file = tmp_path / "access.toml"
    digests = {
        name: hashlib.sha256(f"token of {name}".encode()).hexdigest() for name in ("anna", "bert")
    }
    file.write_text(FILE.format(**digests))
    with serving(lambda: create_app({"app": site.dsns["app"]}, access=file)) as server:
        yield server


async def sign_in(page: Page, name: str) -> None:
    await expect(page.get_by_label("Your name")).to_have_count(0)
    await page.get_by_label("Token").fill(f"token of {name}")
    await page.get_by_role("button", name="Sign in").click()
    await expect(live(page)).to_be_visible()


async def test_a_viewer_sees_every_page_and_no_button_that_acts(guarded: Serving, window: Open):
    page = await window(guarded.url)
    await sign_in(page, "anna")
    await expect(page.get_by_role("heading", name="Needs attention")).to_be_visible()
    await page.goto(f"{guarded.url}#/app/channel/acme")
    await expect(page.get_by_role("heading", name="Limits")).to_be_visible()
    for name in ("Pause", "Edit limits", "Purge waiting"):
        await expect(page.get_by_role("button", name=name)).to_have_count(0)
    await page.goto(f"{guarded.url}#/app/dead")
    await expect(page.get_by_role("table", name="Dead messages by error")).to_be_visible()
    await expect(page.get_by_role("button", name=re.compile("Redrive|Purge"))).to_have_count(0)


async def test_a_user_of_some_channels_sees_and_stops_these_alone(
    guarded: Serving, window: Open, site: Site
):
    page = await window(guarded.url)
    await sign_in(page, "bert")
    await expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    links = page.get_by_role("navigation", name="Pages").get_by_role("link")
    assert [(await each.inner_text()).strip() for each in await links.all()] == [
        "Overview",
        "Channels",
        "Messages",
        "Dead",
    ]
    rows = page.get_by_role("table", name="Busiest channels").get_by_role("rowheader")
    await expect(rows.first).to_be_visible()
    for name in await rows.all_inner_texts():
        assert re.match("acme|glob", name.strip())
    assert await grave(page) == []
    await page.goto(f"{guarded.url}#/app/channel/acme")
    await expect(page.get_by_role("button", name="Pause")).to_be_visible()
    await expect(page.get_by_role("button", name="Edit limits")).to_have_count(0)
    dead = site.queues["app"].dead_list("acme")[0].id
    await page.goto(f"{guarded.url}#/app/message/{dead}")
    await expect(page.get_by_text("Payloads of this channel are hidden from you.")).to_be_visible()
    await page.set_viewport_size({"width": 390, "height": 844})
    assert await page.evaluate("document.documentElement.scrollWidth") == 390
    await page.goto(f"{guarded.url}#/app/overview")
    await expect(page.get_by_role("table", name="Busiest channels")).to_be_visible()


async def test_a_user_signs_in_at_a_provider_of_another_site(
    site: Site, window: Open, tmp_path: Path
):
    provider, file = Provider(), tmp_path / "access.toml"
    with served(provider.app) as address:
        provider.issuer = address.replace("127.0.0.1", "localhost")
        (tmp_path / "secret").write_text(SECRET)
        file.write_text(OIDC_FILE.format(issuer=provider.issuer, client=CLIENT))
        with serving(lambda: create_app({"app": site.dsns["app"]}, access=file)) as server:
            page = await window(server.url)
            await expect(page.get_by_label("Token")).to_have_count(0)
            await page.get_by_role("link", name="Sign in").click()
            await expect(live(page)).to_be_visible()
            await expect(page.get_by_text("anna@example.org")).to_be_visible()
            await page.get_by_role("button", name="Sign out").click()
            provider.claims = {}
            await page.get_by_role("link", name="Sign in").click()
            await expect(page.get_by_text("The sign-in failed.")).to_be_visible()
            assert await grave(page) == []

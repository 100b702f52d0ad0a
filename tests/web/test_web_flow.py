"""From the link to the table and on: names, invitations, the footer, unknown pages, and sharing a result."""

from pathlib import Path

import pytest
from playwright.async_api import Browser, Page

from support.browser import (
    COPY,
    IN_BROWSER,
    NO_SHARE,
    Tab,
    box_of,
    check_layout,
    find_violations,
    give_name,
    join_race,
    open_page,
    solo,
    start_race,
    take_seat,
)
from support.servers import Server, begin_together, racers, resign_all

pytestmark = [*IN_BROWSER, pytest.mark.tier(2)]
SHARE = "navigator.share = async (shared) => { window.shared = shared; }"


async def test_a_refused_name_is_corrected_in_the_form(server: Server, page: Page) -> None:
    name = "\u202eada"
    race_id = server.create("corners")
    await page.goto(f"{server.url}/r/{race_id}")
    await give_name(page, name)
    await page.wait_for_selector("#name-problem:has-text('A name cannot contain the character U+20')")
    assert await page.input_value("#name") == name
    assert await page.get_attribute("#name", "aria-invalid") == "true"
    assert await page.get_attribute("#name", "aria-describedby") == "name-problem"
    assert await page.evaluate("document.activeElement.id") == "name"
    assert not await find_violations(page)
    await give_name(page, "ada")
    await page.wait_for_selector(".standings:has-text('ada (you)')")


@pytest.mark.parametrize("can_share", [True, False])
async def test_the_lobby_shares_or_copies_the_link_and_shows_it_on_request(
    can_share: bool, server: Server, page: Page
) -> None:
    race_id = server.create("corners")
    link = f"{server.url}/r/{race_id}"
    await page.add_init_script(SHARE if can_share else NO_SHARE)
    await page.add_init_script(COPY)
    await take_seat(page, server, race_id)
    share, shared = ("Share the link", "window.shared.url") if can_share else ("Copy link", "window.copied")
    for text in (share, "+ friend"):
        await page.evaluate("window.shared = window.copied = null")
        await page.click(f"button:text-is('{text}')")
        assert await page.evaluate(shared) == link
    await check_layout(page)
    await page.click("button[aria-label='QR code']")
    assert await page.evaluate("document.querySelector('#qr-code img').decode().then(() => true)")
    assert await page.input_value("#qr-code input") == link
    await page.click("#qr-code button:text-is('Copy link')")
    assert await page.evaluate("window.copied") == link
    await check_layout(page)


@pytest.mark.tier(1)
async def test_who_is_alone_shares_the_link_first_and_then_everyone_gets_ready(
    server: Server, chromium: Browser
) -> None:
    async with open_page(chromium) as host, open_page(chromium) as guest:
        await join_race(host.page, server, solo(server, "corners"), "ada")
        await host.page.goto(server.url)
        await host.page.click("button:text-is('Race a friend')")
        first = ".go button.first:visible"
        await host.page.wait_for_selector("text=Send the link to a friend, or add a bot.")
        assert await host.page.inner_text(first) in ("Share the link", "Copy link")
        await guest.page.goto(host.page.url)
        await give_name(guest.page, "bo")
        for tab in (host, guest):
            await tab.page.wait_for_selector("#ready.first")
            assert await tab.page.inner_text(first) == "Ready"
            height = await tab.page.evaluate("innerHeight")
            box = await box_of(tab.page.locator("#ready"))
            assert box["y"] + box["height"] <= height


async def test_every_page_has_a_useful_footer_except_a_table_in_play(server: Server, page: Page) -> None:
    race_id = solo(server, "corners")
    for path in ("/", "/verify", "/fairness", "/rules", "/daily", "/login", f"/r/{race_id}"):
        await page.goto(server.url + path)
        await page.locator("footer a").first.wait_for()
        targets = await page.locator("footer a").evaluate_all("all => all.map((each) => each.pathname)")
        rules = "/rules/corners" if race_id in path else "/rules"
        assert targets == [rules, "/daily", "/fairness", "/verify", "/docs"]
    for path in targets:
        status, _ = server.get(path)
        assert status == 200
    await start_race(page, server, race_id)
    assert await page.locator("footer").is_hidden()


async def test_the_footer_links_to_the_source_code_if_the_operator_has_set_it(tmp_path: Path, page: Page) -> None:
    with Server(data_dir=tmp_path, source_url="https://code.example/same-deal?a=1&b=2") as other:
        await page.goto(other.url)
        source = page.locator("footer a:text-is('Source code')")
        assert await source.get_attribute("href") == "https://code.example/same-deal?a=1&b=2"


async def test_what_is_not_found_is_a_page_with_a_way_on(server: Server, page: Page, tab: Tab) -> None:
    tab.refusals = {404}
    for path in ("/r/no-such-race-1", "/replay/no-such-race-1", "/rules/no-such-game", "/nonsense"):
        response = await page.goto(server.url + path)
        assert response
        assert response.status == 404
        await page.wait_for_selector("h1:text-is('Not found')")
        assert await page.locator("a:text-is('Home')").count() == 1
    assert not await find_violations(page)
    await page.click("main a:text-is('Home')")
    await page.wait_for_selector("button:text-is('Race a friend')")
    status, body = server.get("/r/no-such-race-1", Accept="application/json")
    assert status == 404
    assert b'"code":"not-found"' in body


@pytest.mark.parametrize("slug", ["corner-stones", "gallery"])
async def test_a_replay_shows_the_slider_and_both_tables_at_once(slug: str, server: Server, page: Page) -> None:
    await page.goto(f"{server.url}/replay/{await raced(server, slug)}")
    await page.click(".side button:has-text('bo')")
    await page.wait_for_selector(".boards figure >> nth=1")
    for width, height in ((390, 844), (844, 390)):
        await page.set_viewport_size({"width": width, "height": height})
        boxes = await page.locator(".scrubber, .boards .table, .player button").evaluate_all(
            "all => all.map((each) => each.getBoundingClientRect().toJSON())"
        )
        assert len(boxes) == 6
        for box in boxes:
            assert box["top"] >= 0, (width, box)
            assert box["bottom"] <= height, (width, box)
            assert box["right"] <= width, (width, box)
        await check_layout(page)


async def raced(server: Server, slug: str) -> str:
    """Return a race of ada and bo that is over."""
    race_id = server.create(slug, seed="raced", max_racers=2, start_delay_ms=0)
    async with racers(server, "ada", "bo") as players:
        await begin_together(race_id, players)
        await resign_all(players)
    await server.replay(race_id)
    return race_id

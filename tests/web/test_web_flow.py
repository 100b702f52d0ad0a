"""From the link to the table and on: names, invitations, the footer, unknown pages, and sharing a result."""

import asyncio
from pathlib import Path

import pytest
from playwright.async_api import Browser

from samedeal.wire import messages as m
from support.browser import (
    browser_marks,
    find_violations,
    join_race,
    open_page,
    overflow,
    page_browser,
    page_server,
    solo,
    wait_for_deal,
)
from support.servers import Server, racers

pytestmark = browser_marks()
server, chromium = page_server, page_browser
SHARE = "navigator.share = async (shared) => { window.shared = shared; }"
NO_SHARE = "Object.defineProperty(navigator, 'share', { value: undefined })"
COPY = "navigator.clipboard.writeText = async (text) => { window.copied = text; }"


async def test_an_invited_guest_plays_after_a_name_and_two_taps(server: Server, chromium: Browser) -> None:
    race_id = server.create("corners", seed="7", max_racers=2, start_delay_ms=0)
    async with open_page(chromium) as host, open_page(chromium) as guest:
        await join_race(host.page, server, race_id)
        page = guest.page
        await page.goto(f"{server.url}/r/{race_id}")
        await page.wait_for_selector("#name:focus")
        await page.keyboard.type("bo")
        await page.click("button:text-is('Join')")
        await page.click("#ready")
        await asyncio.gather(wait_for_deal(page), wait_for_deal(host.page))
        assert not guest.errors


@pytest.mark.parametrize("name", ["a\u200db", "\u202eada"])
async def test_a_refused_name_is_corrected_in_the_form(name: str, server: Server, chromium: Browser) -> None:
    race_id = server.create("corners")
    async with open_page(chromium) as tab:
        page = tab.page
        await page.goto(f"{server.url}/r/{race_id}")
        await page.fill("#name", name)
        await page.click("button:text-is('Join')")
        await page.wait_for_selector("#name-problem:has-text('A name cannot contain the character U+20')")
        assert await page.input_value("#name") == name
        assert await page.get_attribute("#name", "aria-invalid") == "true"
        assert await page.get_attribute("#name", "aria-describedby") == "name-problem"
        assert await page.evaluate("document.activeElement.id") == "name"
        assert not await find_violations(page)
        await page.fill("#name", "ada")
        await page.keyboard.press("Enter")
        await page.wait_for_selector(".standings:has-text('ada (you)')")
        assert not tab.errors


@pytest.mark.parametrize("can_share", [True, False])
async def test_the_lobby_offers_share_then_qr_code_then_copy(
    can_share: bool, server: Server, chromium: Browser
) -> None:
    race_id = server.create("corners")
    link = f"{server.url}/r/{race_id}"
    async with open_page(chromium) as tab:
        page = tab.page
        await page.add_init_script(SHARE if can_share else NO_SHARE)
        await page.add_init_script(COPY)
        await page.goto(link)
        await page.fill("#name", "ada")
        await page.click("button:text-is('Join')")
        await page.wait_for_selector("#ready")
        found = await page.locator(".invite :is(button, img)").evaluate_all(
            "all => all.map(({ alt, textContent }) => alt || textContent)"
        )
        share = ["Share the link"] if can_share else []
        assert found == [*share, "The link as a QR code", "Copy link"]
        assert await page.evaluate("document.querySelector('.invite img').decode().then(() => true)")
        await page.click("button:text-is('Copy link')")
        assert await page.evaluate("window.copied") == link
        if can_share:
            await page.click("button:text-is('Share the link')")
            assert await page.evaluate("window.shared.url") == link
        assert not await find_violations(page)
        assert not tab.errors


async def test_guests_see_the_ready_button_before_the_invitation(server: Server, chromium: Browser) -> None:
    async with open_page(chromium) as host, open_page(chromium) as guest:
        await join_race(host.page, server, solo(server, "corners"), "ada")
        await host.page.goto(server.url)
        await host.page.click("button:text-is('Race a friend')")
        for tab, ready_first in ((host, False), (guest, True)):
            if ready_first:
                await tab.page.goto(host.page.url)
                await tab.page.fill("#name", "bo")
                await tab.page.click("button:text-is('Join')")
            await tab.page.wait_for_selector("#ready")
            sections = await tab.page.locator(".lobby > section").evaluate_all(
                "all => all.map((each) => each.ariaLabel)"
            )
            assert (sections.index("Players") < sections.index("Invite friends")) is ready_first


async def test_every_page_has_a_useful_footer_except_a_table_in_play(server: Server, chromium: Browser) -> None:
    race_id = solo(server, "corners")
    async with open_page(chromium) as tab:
        page = tab.page
        for path in ("/", "/verify", "/fairness", "/rules", "/daily", "/login", f"/r/{race_id}"):
            await page.goto(server.url + path)
            await page.locator("footer a").first.wait_for()
            targets = await page.locator("footer a").evaluate_all("all => all.map((each) => each.pathname)")
            assert targets == ["/rules", "/daily", "/fairness", "/verify", "/docs"]
        for path in targets:
            status, _ = server.get(path)
            assert status == 200
        await join_race(page, server, race_id)
        await wait_for_deal(page)
        assert await page.locator("footer").is_hidden()
        assert not tab.errors


async def test_the_footer_links_to_the_source_code_if_the_operator_has_set_it(
    tmp_path: Path, chromium: Browser
) -> None:
    with Server(data_dir=tmp_path, source_url="https://code.example/same-deal?a=1&b=2") as other:
        async with open_page(chromium) as tab:
            await tab.page.goto(other.url)
            source = tab.page.locator("footer a:text-is('Source code')")
            assert await source.get_attribute("href") == "https://code.example/same-deal?a=1&b=2"


async def test_an_unknown_path_is_a_page_with_a_way_on(server: Server, chromium: Browser) -> None:
    async with open_page(chromium) as tab:
        response = await tab.page.goto(f"{server.url}/nonsense")
        assert response
        assert response.status == 404
        await tab.page.wait_for_selector("h1:text-is('Not found')")
        assert not await find_violations(tab.page)
        await tab.page.click("main a:text-is('Home')")
        await tab.page.wait_for_selector("button:text-is('Race a friend')")
        assert [error for error in tab.errors if "nonsense" not in error] == []


async def test_a_copied_result_includes_the_link(server: Server, chromium: Browser) -> None:
    race_id = solo(server, "corners")
    async with open_page(chromium) as tab:
        page = tab.page
        await page.add_init_script(COPY)
        await join_race(page, server, race_id)
        await wait_for_deal(page)
        await page.click("button:text-is('Resign')")
        await page.click("dialog >> text=Yes")
        await page.wait_for_selector("text=Verified ✓")
        await page.click("button:text-is('Copy result')")
        first, link, *_ = (await page.evaluate("window.copied")).split("\n")
        assert first.startswith("Same Deal · Corners · 0 of 48 home")
        assert link == f"{server.url}/r/{race_id}"


@pytest.mark.parametrize("size", [(390, 844), (844, 390)])
async def test_a_replay_shows_the_slider_and_both_tables_at_once(
    size: tuple[int, int], server: Server, chromium: Browser
) -> None:
    for slug in ("corner-stones", "gallery", "the-edge"):
        async with open_page(chromium, *size) as tab:
            page = tab.page
            await page.goto(f"{server.url}/replay/{await raced(server, slug)}")
            await page.click(".side button:has-text('bo')")
            await page.wait_for_selector(".tables figure >> nth=1")
            boxes = await page.locator(".scrubber, .tables .table, .player button").evaluate_all(
                "all => all.map((each) => each.getBoundingClientRect().toJSON())"
            )
            assert len(boxes) == 6
            for box in boxes:
                assert box["top"] >= 0, (slug, box)
                assert box["bottom"] <= size[1], (slug, box)
                assert box["right"] <= size[0], (slug, box)
            assert await overflow(page) <= 0
            assert slug != "gallery" or not await find_violations(page)


async def test_par_is_a_histogram_with_the_own_result_marked(server: Server, chromium: Browser) -> None:
    async with open_page(chromium) as tab:
        page = tab.page
        await page.goto(f"{server.url}/replay/{await raced(server, 'the-edge')}")
        picture = page.locator(".par-chart [role=img]")
        await picture.wait_for(timeout=240_000)
        label = await picture.get_attribute("aria-label") or ""
        assert label.startswith("Cards home in the computer's games. ")
        assert label.endswith(" ada: 0.")
        games = sum(int(part.split(": ")[1].split(" ")[0]) for part in label.split(". ")[1].split(", "))
        summary = await page.inner_text(".par p >> nth=0")
        assert f"played this deal {games} times" in summary
        assert await page.locator(".par-chart .own").count() == 1
        assert (await page.inner_text(".par-chart .mark")).strip("▾ ") == "ada"
        assert not await find_violations(page)


async def raced(server: Server, slug: str) -> str:
    """Return a race of ada and bo that is over."""
    race_id = server.create(slug, seed="7", max_racers=2, start_delay_ms=0)
    async with racers(server, "ada", "bo") as players:
        for player in players:
            await player.join(race_id)
        for player in players:
            await player.ask(m.Ready)
        for player in players:
            await player.until(lambda view: view.stage == "running")
        for player in players:
            await player.ask(m.Resign)
    await server.replay(race_id)
    return race_id

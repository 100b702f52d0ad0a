"""A first visit to the page, in a new browser without a name: names, hosts, and the rules."""

import json
from collections.abc import Callable

import pytest
from playwright.async_api import Browser, Page, Request

from samedeal.wire.messages import Ready
from support.browser import (
    IN_BROWSER,
    SHIFTS,
    Tab,
    check_shift,
    create_challenge,
    open_as,
    open_page,
    wait_until,
)
from support.servers import Server, begin_together, racers, resign_all

pytestmark = IN_BROWSER
MOST_BYTES = 110_000
SLOW = {"offline": False, "latency": 100, "downloadThroughput": -1, "uploadThroughput": -1}


async def test_a_guest_enters_a_name_once_and_is_offered_the_rules(server: Server, chromium: Browser) -> None:
    async with open_page(chromium) as tab:
        page = tab.page
        for known in ("", "ada"):
            await page.goto(f"{server.url}/r/{server.create('corners')}")
            await page.wait_for_selector("#name")
            assert await page.input_value("#name") == known
            assert await page.get_attribute("main a:text-is('Rules of Corners')", "href") == "/rules/corners"
            await page.fill("#name", "ada")
            await page.click("button:text-is('Take a seat')")
            await page.wait_for_selector("#ready")
            await page.wait_for_selector(".standings:has-text('ada (you)')")
        assert not tab.errors


@pytest.mark.tier(2)
async def test_a_first_visit_takes_at_most_25_requests(server: Server, chromium: Browser) -> None:
    for path in ("/", f"/r/{server.create('corners')}"):
        async with open_page(chromium, service_workers="allow") as tab:
            requested = list[str]()
            tab.page.context.on("request", requests_into(requested))
            await tab.page.goto(server.url + path)
            await tab.page.wait_for_selector("main button.first")
            await wait_until(tab.page, "navigator.serviceWorker.getRegistration().then((it) => Boolean(it?.active))")
            assert any(url.endswith("/all.json") for url in requested)
            assert len(requested) <= 25, requested


@pytest.mark.tier(2)
async def test_a_first_visit_downloads_at_most_110_kb(server: Server, chromium: Browser) -> None:
    """Before the service worker loads the rest of the page for use without a connection."""
    async with racers(server, "bo") as (bo,):
        challenge = create_challenge(server, bo, "kings-in-the-corners")
    for path in ("/", f"/r/{server.create('kings-in-the-corners')}", f"/c/{challenge}"):
        async with open_page(chromium) as tab:
            await tab.page.goto(server.url + path)
            await tab.page.wait_for_selector("footer:not([hidden])", state="attached")
            await tab.page.wait_for_load_state("networkidle")
            assert sum(tab.fetched.values()) <= MOST_BYTES, tab.fetched


@pytest.mark.tier(2)
async def test_a_link_leads_to_the_first_card_in_two_taps_on_a_slow_phone(server: Server, chromium: Browser) -> None:
    """Besides the name and the countdown. The processor is four times slower, and the server 100 ms away."""
    race_id = server.create("corners", seed="two taps", max_racers=2, start_delay_ms=1000)
    async with racers(server, "bo") as (bo,), open_page(chromium) as tab:
        await bo.join(race_id)
        await bo.ask(Ready)
        page = tab.page
        session = await page.context.new_cdp_session(page)
        await session.send("Emulation.setCPUThrottlingRate", {"rate": 4})
        await session.send("Network.enable")
        await session.send("Network.emulateNetworkConditions", SLOW)
        await page.goto(f"{server.url}/r/{race_id}")
        await page.fill("#name", "ada")
        for text in ("Take a seat", "Ready"):
            await page.tap(f"main button.first:visible:text-is('{text}')")
        await page.wait_for_selector(".pile.lit .card")
        assert not tab.errors


@pytest.mark.tier(2)
@pytest.mark.parametrize("size", [(844, 390), (768, 1024)])
async def test_nothing_shifts_on_an_invitation(size: tuple[int, int], server: Server, chromium: Browser) -> None:
    race_id = server.create("the-edge")
    async with open_page(chromium, *size) as tab:
        await tab.page.add_init_script(SHIFTS)
        await tab.page.goto(f"{server.url}/r/{race_id}")
        await tab.page.wait_for_selector("#name:focus")
        await tab.page.wait_for_selector(".miniature .card")
        await check_shift(tab.page)


def requests_into(urls: list[str]) -> Callable[[Request], None]:
    return lambda request: urls.append(request.url)


async def test_a_new_host_is_asked_for_a_name_until_there_is_one(server: Server, tab: Tab) -> None:
    page, tab.refusals = tab.page, {401, 403}
    await page.goto(server.url)
    await page.click("button:text-is('Race a friend')")
    await page.wait_for_selector("dialog #name:focus")
    await page.keyboard.press("Escape")
    await page.wait_for_selector("dialog", state="detached")
    await page.click("button:text-is('Race a friend')")
    await open_as(page, "admin")
    await page.wait_for_selector("dialog .refusal:has-text('not available')")
    await open_as(page, "ada")
    for _ in range(2):
        await page.wait_for_selector("#ready")
        _, view = server.get(f"/api/v1/races/{page.url.rpartition('/')[2]}")
        assert json.loads(view)["host"] == {"name": "ada", "seat": 1}
        await page.goto(server.url)
        await page.evaluate(
            "localStorage.setItem('samedeal.guest', JSON.stringify({ name: 'ada', token: 'forgotten' }))"
        )
        await page.click("button:text-is('Race a friend')")


async def test_a_spectator_who_opens_another_race_is_its_host(server: Server, page: Page) -> None:
    race_id = server.create("corners", seed="spectator", max_racers=2, start_delay_ms=0)
    async with racers(server, "ada", "bo") as players:
        await begin_together(race_id, players)
        await resign_all(players)
        await page.goto(f"{server.url}/r/{race_id}")
        await page.click("button:text-is('New race')")
        await open_as(page, "eve")
        await page.wait_for_selector("#ready")
        _, view = server.get(f"/api/v1/races/{page.url.rpartition('/')[2]}")
        assert json.loads(view)["host"] == {"name": "eve", "seat": 1}

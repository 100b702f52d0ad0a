"""The page in a real browser: reconnecting, several tabs, rivals and spectators."""

import asyncio
import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page

from samedeal.wire import messages as m
from support.browser import (
    AWAY_S,
    IN_BROWSER,
    SOLO,
    box_of,
    join_race,
    new_tab,
    open_page,
    resign,
    solo,
    start_race,
    take_seat,
    tap_moves,
    verified,
    wait_for_deal,
    wait_for_ply,
    window,
)
from support.faulty_proxy import Proxy
from support.servers import Racer, Server, racers
from support.vectors import WINS

pytestmark = [*IN_BROWSER, pytest.mark.tier(2)]
SHOW = """(state) => {
    Object.defineProperty(document, "visibilityState", { value: state, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
}"""
"""Hide the page or show it, as when a phone is locked and unlocked."""


async def test_second_tab_takes_over_the_seat(server: Server, page: Page) -> None:
    race_id = solo(server, "corners")
    await start_race(page, server, race_id)
    second = await new_tab(page.context)
    await second.page.goto(f"{server.url}/r/{race_id}")
    await wait_for_deal(second.page)
    await page.wait_for_selector("text=This race is open in another window")
    await tap_moves(second.page, ["r2"])
    await wait_for_ply(second.page, 1)
    await page.click("text=Use this window")
    await page.wait_for_selector('.table[data-ply="1"]')
    await second.page.wait_for_selector("text=This race is open in another window")


async def test_all_pages_lead_back_to_a_race_until_it_is_over(server: Server, page: Page) -> None:
    race_id = solo(server, "corners", max_racers=2)
    back = f".way-back a[href='/r/{race_id}']"
    async with racers(server, "bo") as (bo,):
        await bo.join(race_id)
        await bo.ask(m.Ready)
        await start_race(page, server, race_id)
        await tap_moves(page, ["r2"])
        await wait_for_ply(page, 1)
        await page.click(".brand")
        await page.wait_for_selector(back)
        assert (await page.title()).startswith("▶ ")
        for path in (f"/w/{race_id}", "/rules/corners"):
            await page.goto(server.url + path)
            await page.wait_for_selector(back)
        await page.click(back)
        await page.wait_for_selector('.table[data-ply="1"]')
        assert not await page.is_visible(".way-back")
        await page.goto(server.url)
        await page.wait_for_selector(back)
        ada = Racer("ada")
        ada.token = await page.evaluate("JSON.parse(localStorage.getItem('samedeal.guest')).token")
        await ada.connect(server)
        await ada.join(race_id)
        await ada.ask(m.Resign)
        await ada.close()
        await bo.ask(m.Resign)
    await page.evaluate(SHOW, "visible")
    await page.wait_for_selector(back, state="hidden")
    assert not (await page.title()).startswith("▶ ")
    await page.reload()
    await page.wait_for_selector("footer:not([hidden])")
    assert await page.evaluate("localStorage.getItem('samedeal.seats')") == "{}"


@window(844, 390)
async def test_way_back_covers_no_card_in_a_low_window(server: Server, page: Page) -> None:
    await start_race(page, server, solo(server, "corners"))
    await page.goto(f"{server.url}/practice/corner-stones:811")
    await page.wait_for_selector(".way-back:visible")
    table, bar = await box_of(page.locator(".table")), await box_of(page.locator(".way-back"))
    assert bar["y"] + bar["height"] <= table["y"]
    assert table["y"] + table["height"] <= 390


async def test_seat_that_was_left_has_no_way_back(server: Server, page: Page) -> None:
    race_id = server.create("corners")
    await take_seat(page, server, race_id)
    await page.click("button:text-is('Leave')")
    await page.wait_for_url(f"{server.url}/")
    await page.wait_for_selector("footer:not([hidden])")
    assert await page.evaluate("localStorage.getItem('samedeal.seats')") == "{}"


async def test_page_reconnects_after_a_server_restart(tmp_path: Path, chromium: Browser) -> None:
    with Server(data_dir=tmp_path / "data") as server:
        race_id = server.create("corners", seed=WINS["corners"]["seed"], **SOLO)
        async with open_page(chromium) as watched:
            await start_race(watched.page, server, race_id)
            port = server.port
            server.kill()
            await watched.page.wait_for_selector("text=Reconnecting")
            await watched.page.wait_for_selector("text=The clock keeps running. Your seat is reserved")
            server.start(port)
            await watched.page.wait_for_selector(".dot.up")
            await tap_moves(watched.page, ["r2"])
            await wait_for_ply(watched.page, 1)


async def test_lobby_reconnects_with_its_seat(server: Server, chromium: Browser) -> None:
    async with Proxy(server.url) as network, open_page(chromium) as watched:
        page = watched.page
        await page.goto(f"{network.url}/r/{server.create('corners')}")
        await page.fill("#name", "ada")
        await page.click("button:text-is('Take a seat')")
        await page.wait_for_selector("#ready")
        network.cut()
        await page.wait_for_selector("text=Reconnecting")
        await page.wait_for_selector(f"text=Your seat is held for {AWAY_S} s")
        network.mend()
        await page.wait_for_selector(".dot.up")
        await page.click("#ready")
        await page.wait_for_selector("button:text-is('Cancel ready')")
        assert await page.locator(".standings li").count() == 1


async def test_page_reconnects_at_once_when_the_phone_wakes_up(server: Server, chromium: Browser) -> None:
    race_id = solo(server, "corners")
    async with Proxy(server.url) as network, open_page(chromium) as watched:
        page = watched.page
        await page.clock.install()
        await page.goto(f"{network.url}/r/{race_id}")
        await page.fill("#name", "ada")
        await page.press("#name", "Enter")
        await wait_for_deal(page)
        await page.evaluate(SHOW, "hidden")
        network.stall()  # it closes no connection
        await page.clock.fast_forward(60_000)
        async with page.expect_websocket():
            await page.evaluate(SHOW, "visible")
        network.mend()
        await tap_moves(page, ["r2"])
        await wait_for_ply(page, 1)
        assert not watched.errors


@pytest.mark.parametrize("state", ["hidden", "visible"])
async def test_only_a_visible_page_pings_a_silent_server(state: str, server: Server, page: Page) -> None:
    pongs = asyncio.Semaphore(0)

    def on_frame(frame: str | bytes) -> None:
        if '"pong"' in str(frame):
            pongs.release()

    page.on("websocket", lambda socket: socket.on("framereceived", on_frame))
    await page.clock.install()
    await take_seat(page, server, server.create("corners"))
    await page.evaluate(SHOW, state)
    for _ in range(3):
        await page.clock.fast_forward(30_000)
        if state == "visible":
            await pongs.acquire()
    async with page.expect_websocket():
        await page.evaluate("dispatchEvent(new Event('online'))" if state == "visible" else f"({SHOW})('visible')")
    await page.wait_for_selector(".dot.up")
    assert pongs.locked()


async def test_rivals_are_shown_as_counts_in_a_sealed_race(server: Server, page: Page) -> None:
    race_id = server.create("corners", start_delay_ms=1000)
    async with racers(server, "bo") as (bo,):
        await join_race(page, server, race_id)
        await bo.begin(race_id)
        await wait_for_deal(page)
        assert "bo, 0 of 48" in (await page.get_attribute(".strip", "aria-label") or "")
        assert await page.locator(".table").count() == 1
        await resign(page)
        await bo.ask(m.Resign)
        await page.wait_for_selector("h1:text-is('You and bo tied for 1st of 2')")
        await verified(page)
        facts = await page.locator(".facts").text_content()
        assert re.search(r"✓ receipts \d+ digests received during the race match", facts or "")


async def test_visitor_of_a_full_race_watches_it_and_can_hide_the_progress_of_racers(
    server: Server, page: Page
) -> None:
    race_id = solo(server, "corners")
    async with racers(server, "bo") as (bo,):
        await join_race(page, server, solo(server, "gallery"))
        await bo.begin(race_id)
        await page.goto(f"{server.url}/r/{race_id}")
        await page.wait_for_selector("text=You are watching")
        await page.wait_for_selector("text=Tables are shown when the race is over")
        assert "bo" in await page.inner_text(".standings")
        await page.locator(".standings progress").wait_for(state="visible")
        await page.click(".preferences > button")
        await page.uncheck("#preference-rivals")
        await page.locator(".standings progress").wait_for(state="hidden")


async def test_spectator_is_asked_for_a_name_when_joining(server: Server, page: Page) -> None:
    watched_race, race_id = server.create("corners"), server.create("corners")
    await page.goto(f"{server.url}/w/{watched_race}")
    await page.wait_for_selector(".dot.up")
    await page.goto(f"{server.url}/r/{race_id}")
    await page.wait_for_selector("#name")
    assert await page.input_value("#name") == ""

"""The page in a real browser: one player on two devices, and logging out."""

import json
from typing import Any

import pytest
import segno
from playwright.async_api import Browser, Page

from support.browser import (
    IN_BROWSER,
    Tab,
    check_layout,
    check_themes,
    new_tab,
    open_page,
    overflow,
    solo,
    start_race,
    tap_moves,
    wait_for_deal,
    wait_for_ply,
    window,
)
from support.servers import Server

pytestmark = [*IN_BROWSER, pytest.mark.tier(2)]
HOUR_MS = 3_600_000
STORED = "JSON.parse(localStorage.getItem('samedeal.guest'))"
SHOWN = """() => {
    const svg = document.querySelector("svg.qr");
    const size = svg.viewBox.baseVal.width - 8;
    const rows = Array.from({ length: size }, () => Array(size).fill(0));
    for (const [, x, y] of svg.querySelector("path").getAttribute("d").matchAll(/M(\\d+) (\\d+)h1v1h-1z/g))
        rows[y - 4][x - 4] = 1;
    return rows;
}"""
"""The modules of the QR code that the page shows."""


async def play_first_race(watched: Tab, server: Server, name: str = "ada") -> dict[str, Any]:
    """Join a race, which creates a guest. Return what the browser stores about it."""
    await start_race(watched.page, server, solo(server, "corners"), name)
    guest: dict[str, Any] = await watched.page.evaluate(STORED)
    return guest


async def choose(page: Page, item: str) -> None:
    """Choose an item of the menu."""
    await page.click(".preferences > button")
    await page.click(f".preferences >> text={item}")


async def new_code(page: Page) -> str:
    """Show a code and return it."""
    await choose(page, "Play on another device")
    return await page.inner_text(".code")


async def log_in(page: Page, server: Server, code: str) -> None:
    await page.goto(f"{server.url}/login#{code}")
    await page.click("button:text-is('Log in')")


async def test_code_moves_the_player_to_another_device(server: Server, chromium: Browser) -> None:
    async with open_page(chromium, 1440, 900) as laptop, open_page(chromium, 320, 568) as phone:
        guest = await play_first_race(laptop, server)
        race = laptop.page.url
        code = await new_code(laptop.page)
        link = f"{server.url}/login#{code}"
        assert await laptop.page.evaluate(SHOWN) == [
            list(row) for row in segno.make(link, error="l", micro=False).matrix
        ]
        requested: list[str] = []
        phone.page.on("request", lambda request: requested.append(request.url + str(request.headers)))
        await phone.page.goto(link)
        await phone.page.wait_for_selector("h1:text-is('Log in on this device')")
        assert phone.page.url == f"{server.url}/login", "the code does not stay in the address or the history"
        assert await phone.page.input_value("#code") == code
        assert not any("/guests/" in url for url in requested), "opening the link does not use the code"
        await phone.page.click("button:text-is('Log in')")
        await phone.page.wait_for_selector("h1:text-is('You are ada')")
        assert not any(code in url for url in requested), "neither a URL nor a header contains the code"
        on_phone = await phone.page.evaluate(STORED)
        assert on_phone["token"] != guest["token"]
        assert on_phone == guest | {"token": on_phone["token"]}
        await phone.page.goto(race)
        await wait_for_deal(phone.page)
        await laptop.page.click("text=Close")
        await laptop.page.wait_for_selector("text=This race is open in another window")
        await tap_moves(phone.page, ["r2"])
        await wait_for_ply(phone.page, 1)
        assert laptop.errors == phone.errors == []
        assert not phone.foreign_urls(server)


@window(320, 568)
async def test_dialog_and_login_page_are_accessible_and_fit_small_windows(server: Server, page: Page, tab: Tab) -> None:
    tab.refusals = {401}
    await play_first_race(tab, server, "A name of 24 characters.")
    await page.click(".preferences > button")
    await check_layout(page)
    await page.click("text=Play on another device")
    await page.wait_for_selector("svg.qr")
    await check_themes(page)
    assert await overflow(page) <= 0
    box = await page.locator("dialog").bounding_box()
    assert box
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 320
    assert await page.evaluate(
        "document.querySelector('dialog').scrollWidth <= document.querySelector('dialog').clientWidth"
    )
    await page.keyboard.press("Escape")
    await page.wait_for_selector("dialog", state="detached")
    await page.goto(f"{server.url}/login")
    await page.fill("#code", "0")
    await page.click("button:text-is('Log in')")
    await page.click("dialog button[value=yes]")
    await page.wait_for_selector("text=Create a new one on your other device.")
    await check_themes(page)
    assert await overflow(page) <= 0


async def test_code_expires_on_the_page(server: Server, page: Page, tab: Tab) -> None:
    await play_first_race(tab, server)
    await page.clock.install(time=0)
    await page.clock.pause_at(HOUR_MS)
    first = await new_code(page)
    assert "works once and expires in 10:00." in await page.inner_text("dialog")
    await page.clock.fast_forward("04:00")
    await page.wait_for_selector("dialog time:text-is('6:00')")
    await page.clock.fast_forward("06:01")
    await page.wait_for_selector("text=The code has expired.")
    assert await page.locator("svg.qr").count() == await page.locator(".code").count() == 0
    await page.click("text=New code")
    assert await page.inner_text(".code") != first


async def test_login_asks_before_it_replaces_a_player(server: Server, chromium: Browser) -> None:
    async with open_page(chromium) as laptop, open_page(chromium) as phone:
        ada = await play_first_race(laptop, server)
        bo = await play_first_race(phone, server, "bo")
        code = await new_code(laptop.page)
        await log_in(phone.page, server, code)
        question = await phone.page.inner_text("dialog")
        assert "You play as bo on this device. Replace this player?" in question
        await phone.page.click("dialog button[value=no]")
        assert await phone.page.evaluate(STORED) == bo
        async with phone.page.expect_response("**/guests/logout") as logout:
            await phone.page.click("button:text-is('Log in')")
            await phone.page.click("dialog button[value=yes]")
        await phone.page.wait_for_selector("text=You are ada")
        assert (await logout.value).status == 204
        assert (await phone.page.evaluate(STORED))["player"] == ada["player"]
        status, _ = server.get("/api/v1/guests/pass", b"", Authorization=f"Bearer {bo['token']}")
        assert status == 401, "the token of the replaced player does not stay valid"


async def test_logout_ends_play_in_all_windows_of_the_device_only(server: Server, chromium: Browser) -> None:
    async with open_page(chromium) as laptop, open_page(chromium) as phone:
        guest = await play_first_race(laptop, server)
        race = laptop.page.url
        await log_in(phone.page, server, await new_code(laptop.page))
        await phone.page.wait_for_selector("text=You are ada")
        second = await new_tab(laptop.page.context)
        await second.page.goto(server.url)
        await laptop.page.click("text=Close")
        await choose(second.page, "Log out")
        assert "Your other devices stay logged in." in await second.page.inner_text("dialog")
        async with second.page.expect_navigation():
            await second.page.click("dialog button[value=yes]")
        await laptop.page.wait_for_selector("text=You have logged out in another window.")
        assert await laptop.page.locator(".table").count() == 0
        assert await second.page.evaluate(STORED) is None
        await second.page.click(".preferences > button")
        await second.page.wait_for_selector("text=Log in with a code")
        await phone.page.goto(race)
        await wait_for_deal(phone.page)
        assert (await phone.page.evaluate(STORED))["player"] == guest["player"]
        assert laptop.errors == second.errors == phone.errors == []


async def test_unknown_token_becomes_a_new_guest_with_the_same_name(server: Server, page: Page) -> None:
    await page.goto(f"{server.url}/healthz")  # not a page, which could already use the token
    stale = {"name": "ada", "player": "0" * 16, "token": "sd_expired"}
    await page.evaluate(f"localStorage.setItem('samedeal.guest', {json.dumps(json.dumps(stale))})")
    await page.goto(f"{server.url}/r/{solo(server, 'corners')}")
    await page.click("button:text-is('Play')")
    await wait_for_deal(page)
    renewed = await page.evaluate(STORED)
    assert renewed["name"] == "ada"
    assert renewed["player"] != stale["player"]

"""Reactions on the page, and the calls that bring racers back to a hidden page."""

import re
from typing import Any

import pytest
from playwright.async_api import Browser, Page

from samedeal.wire import messages as m
from support.browser import (
    IN_BROWSER,
    check_layout,
    open_drawer,
    open_page,
    overflow,
    resign,
    take_seat,
    wait_for_deal,
    wait_until,
    window,
)
from support.servers import Racer, Server

pytestmark = [*IN_BROWSER, pytest.mark.tier(2)]

RECORD_CALLS = """
    window.calls = { titles: [], tones: 0, notifications: [] };
    const title = Object.getOwnPropertyDescriptor(Document.prototype, "title");
    Object.defineProperty(document, "title", {
        get() { return title.get.call(document); },
        set(text) { calls.titles.push(text); title.set.call(document, text); },
    });
    const start = OscillatorNode.prototype.start;
    OscillatorNode.prototype.start = function (...when) { calls.tones += 1; start.apply(this, when); };
    window.Notification = class {
        static permission = "default";
        static requestPermission() { this.permission = "granted"; return Promise.resolve("granted"); }
        constructor(text) { calls.notifications.push(text); }
        close() {}
    };
"""
HIDE = """(hidden) => {
    Object.defineProperty(document, "hidden", { get: () => hidden, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
}"""


async def opponent(server: Server, race_id: str) -> Racer:
    bo = Racer("bo")
    bo.features = (m.REACTIONS,)
    await bo.connect(server)
    await bo.join(race_id)
    return bo


async def exchange(page: Page, bo: Racer, label: str, name: str, answer: str) -> None:
    """Send a reaction from the page and another one back."""
    if await page.is_visible(".race"):
        await open_drawer(page, "Reactions")
    await page.click(f".reactions button[aria-label='{label}']")
    while not (isinstance(message := await bo.hear(), m.Reaction) and message.reaction == name):
        pass
    while isinstance(refusal := await bo.ask(m.React, reaction=answer), m.Problem):
        assert refusal.code == "too-many"
        await page.wait_for_timeout(50)
    symbol = {"wow": "😮|Wow", "wave": "👋|Wave", "laugh": "😄|Laugh"}[answer]
    await page.wait_for_selector(f"#status:text-is('bo: {answer}')")
    places = ":is(.standings, .podium) li:has-text('bo') .symbol, .strip .symbol"
    await page.locator(places).filter(has_text=re.compile(f"^({symbol})$"), visible=True).first.wait_for()
    await page.wait_for_selector(".reactions button:not([aria-disabled='true'])", state="attached")


async def test_racers_react_before_during_and_after_a_race(server: Server, chromium: Browser) -> None:
    race_id = server.create("corners", start_delay_ms=0)
    async with open_page(chromium, 320, 568) as ada, open_page(chromium) as eve:
        page = ada.page
        await take_seat(page, server, race_id)
        await eve.page.goto(f"{server.url}/w/{race_id}")
        bo = await opponent(server, race_id)
        await exchange(page, bo, "Good luck", "good-luck", "wave")
        await check_layout(page)
        await page.click("#ready")
        await bo.ask(m.Ready)
        await bo.dealt()
        await wait_for_deal(page)
        await exchange(page, bo, "Oops", "oops", "wow")
        await check_layout(page)
        assert not await eve.page.is_visible("button[aria-label='Reactions']"), "spectators cannot react"
        await bo.ask(m.Resign)
        await resign(page)
        await page.wait_for_selector("text=Rematch")
        await exchange(page, bo, "Well played", "well-played", "laugh")
        await page.wait_for_selector(".symbol:visible", state="detached")
        await page.click(".preferences > button")
        await page.uncheck("#preference-reactions")
        assert not await page.is_visible(".reactions")
        await bo.ask(m.React, reaction="oops")
        await eve.page.wait_for_selector(".symbol:text-matches('^(🙈|Oops)$')")
        assert await page.locator(".symbol:visible").count() == 0
        await bo.close()
        assert ada.errors == eve.errors == []


@pytest.mark.parametrize(("drawn", "label"), [("'👋🍀👏😮😄🙈'", "👋"), ("''", "Wave")])
@window(320, 568)
async def test_reactions_are_words_where_no_font_has_emoji(drawn: str, label: str, server: Server, page: Page) -> None:
    await page.add_init_script(
        f"""CanvasRenderingContext2D.prototype.fillText = function (text) {{
            if ({drawn}.includes(text)) this.fillRect(0, 0, 9, 9);
        }}"""
    )
    await take_seat(page, server, server.create("corners"))
    await page.wait_for_selector(f".reactions button:text-is('{label}')")
    assert await overflow(page) <= 0


async def calls(page: Page) -> Any:
    return await page.evaluate("calls")


async def test_hidden_page_calls_at_the_countdown_and_for_a_rematch(server: Server, page: Page) -> None:
    race_id = server.create("corners", start_delay_ms=3000)
    await page.add_init_script(RECORD_CALLS)
    await take_seat(page, server, race_id)
    await page.click("button:text-is('Notify me when the race starts')")
    await page.wait_for_selector("button:text-is('Notify me when the race starts')", state="hidden")
    bo = await opponent(server, race_id)
    await page.click("#ready")
    await page.wait_for_selector("#ready:text-is('Cancel ready')")
    await page.evaluate(HIDE, True)
    await bo.ask(m.Ready)
    await wait_until(page, "calls.titles.some((title) => /^▶ Starting in [1-5] s$/.test(title))")
    await wait_until(page, "calls.titles.some((title) => /^[1-5]… Corners/.test(title))")
    called = await calls(page)
    assert called["tones"] == 2
    (text,) = called["notifications"]
    assert text.startswith("Starting in ")
    await bo.dealt()
    await wait_for_deal(page)
    await wait_until(page, "document.title.startsWith('0/48 Corners')")
    await page.evaluate(HIDE, False)
    await bo.ask(m.Resign)
    await resign(page)
    await page.wait_for_selector("text=Rematch")
    await page.click(".preferences > button")
    await page.uncheck("#preference-sound")
    await page.evaluate(HIDE, True)
    await bo.ask(m.Again)
    await wait_until(page, "document.title === '▶ bo wants a rematch'")
    called = await calls(page)
    assert called["notifications"][1:] == ["bo wants a rematch"]
    assert called["tones"] == 2, "the sound is turned off"
    await page.evaluate(HIDE, False)
    await wait_until(page, "document.title.startsWith('Rematch?')")
    await bo.close()


async def test_visible_page_does_not_call(server: Server, page: Page) -> None:
    race_id = server.create("corners", start_delay_ms=1000)
    await page.add_init_script(RECORD_CALLS)
    await take_seat(page, server, race_id)
    bo = await opponent(server, race_id)
    await page.click("#ready")
    await bo.ask(m.Ready)
    await bo.dealt()
    await wait_for_deal(page)
    called = await calls(page)
    assert (called["tones"], called["notifications"]) == (0, [])
    assert not [title for title in called["titles"] if title.startswith("▶")]
    await bo.close()

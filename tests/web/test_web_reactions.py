"""Reactions on the page, and the calls that bring racers back to a hidden page."""

from typing import Any

import pytest
from playwright.async_api import Browser, Page

from samedeal.wire import messages as m
from support.browser import (
    browser_marks,
    find_violations,
    open_page,
    overflow,
    page_browser,
    page_server,
    wait_for_deal,
)
from support.servers import Racer, Server

pytestmark = browser_marks()
server, chromium = page_server, page_browser

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


async def take_seat(page: Page, server: Server, race_id: str) -> None:
    await page.goto(f"{server.url}/r/{race_id}")
    await page.fill("#name", "ada")
    await page.click("button:text-is('Join')")
    await page.wait_for_selector("#ready")


async def opponent(server: Server, race_id: str) -> Racer:
    bo = Racer("bo")
    bo.features = (m.REACTIONS,)
    await bo.connect(server)
    await bo.join(race_id)
    return bo


async def exchange(page: Page, bo: Racer, label: str, name: str) -> None:
    """Send a reaction from the page and one back."""
    await page.click(f".reactions button[aria-label='{label}']")
    while not (isinstance(message := await bo.hear(), m.Reaction) and message.reaction == name):
        pass
    while isinstance(answer := await bo.ask(m.React, reaction="wow"), m.Problem):
        assert answer.code == "too-many"
        await page.wait_for_timeout(50)
    await page.wait_for_selector("#status:text-is('bo: wow')")
    await page.wait_for_selector(".standings li:has-text('bo') .symbol:text-matches('^(😮|Wow)$')")
    await page.wait_for_selector(".standings .symbol:visible", state="detached")
    await page.wait_for_selector(".reactions button:not([aria-disabled='true'])")


async def test_racers_react_before_during_and_after_a_race(server: Server, chromium: Browser) -> None:
    race_id = server.create("corners", start_delay_ms=0)
    async with open_page(chromium, 320, 568) as ada, open_page(chromium) as eve:
        page = ada.page
        await take_seat(page, server, race_id)
        await eve.page.goto(f"{server.url}/w/{race_id}")
        bo = await opponent(server, race_id)
        await exchange(page, bo, "Good luck", "good-luck")
        assert not await find_violations(page)
        assert await overflow(page) <= 0
        await page.click("#ready")
        await bo.ask(m.Ready)
        await bo.dealt()
        await wait_for_deal(page)
        await exchange(page, bo, "Oops", "oops")
        assert not await find_violations(page)
        assert await overflow(page) <= 0
        assert not await eve.page.is_visible(".reactions"), "spectators cannot react"
        await bo.ask(m.Resign)
        await page.click("button:text-is('Resign')")
        await page.click("dialog button:text-is('Yes')")
        await page.wait_for_selector("text=Rematch")
        await exchange(page, bo, "Well played", "well-played")
        await page.click(".preferences summary")
        await page.select_option("#preference-reactions", "false")
        assert not await page.is_visible(".reactions")
        await bo.ask(m.React, reaction="laugh")
        await eve.page.wait_for_selector(".symbol:text-matches('^(😄|Laugh)$')")
        assert await page.locator(".symbol:visible").count() == 0
        await bo.close()
        assert ada.errors == eve.errors == []


@pytest.mark.parametrize(("drawn", "label"), [("'👋🍀👏😮😄🙈'", "👋"), ("''", "Wave")])
async def test_reactions_are_words_where_no_font_has_emoji(
    drawn: str, label: str, server: Server, chromium: Browser
) -> None:
    async with open_page(chromium, 320, 568) as ada:
        await ada.page.add_init_script(
            f"""CanvasRenderingContext2D.prototype.fillText = function (text) {{
                if ({drawn}.includes(text)) this.fillRect(0, 0, 9, 9);
            }}"""
        )
        await take_seat(ada.page, server, server.create("corners"))
        await ada.page.wait_for_selector(f".reactions button:text-is('{label}')")
        assert await overflow(ada.page) <= 0


async def until(page: Page, condition: str) -> None:
    """Wait until a JavaScript expression is true. The page does not permit Playwright's own way."""
    while not await page.evaluate(condition):
        await page.wait_for_timeout(50)


async def calls(page: Page) -> Any:
    return await page.evaluate("calls")


async def test_hidden_page_calls_at_the_countdown_and_for_a_rematch(server: Server, chromium: Browser) -> None:
    race_id = server.create("corners", start_delay_ms=5000)
    async with open_page(chromium) as ada:
        page = ada.page
        await page.add_init_script(RECORD_CALLS)
        await take_seat(page, server, race_id)
        await page.click("button:text-is('Notify me when the race starts')")
        await page.wait_for_selector("button:text-is('Notify me when the race starts')", state="hidden")
        bo = await opponent(server, race_id)
        await page.click("#ready")
        await page.wait_for_selector("#ready:text-is('Not ready')")
        await page.evaluate(HIDE, True)
        await bo.ask(m.Ready)
        await until(page, "calls.titles.some((title) => /^▶ Starting in [1-5] s$/.test(title))")
        await until(page, "calls.titles.some((title) => /^[1-5]… Corners/.test(title))")
        called = await calls(page)
        assert called["tones"] == 2
        (text,) = called["notifications"]
        assert text.startswith("Starting in ")
        await bo.dealt()
        await wait_for_deal(page)
        await until(page, "document.title.startsWith('0/48 Corners')")
        await page.evaluate(HIDE, False)
        await bo.ask(m.Resign)
        await page.click("button:text-is('Resign')")
        await page.click("dialog button:text-is('Yes')")
        await page.wait_for_selector("text=Rematch")
        await page.click(".preferences summary")
        await page.select_option("#preference-sound", "false")
        await page.evaluate(HIDE, True)
        await bo.ask(m.Again)
        await until(page, "document.title === '▶ bo wants a rematch'")
        called = await calls(page)
        assert called["notifications"][1:] == ["bo wants a rematch"]
        assert called["tones"] == 2, "the sound is turned off"
        await page.evaluate(HIDE, False)
        await until(page, "document.title.startsWith('Rematch?')")
        await bo.close()
        assert ada.errors == []


async def test_visible_page_does_not_call(server: Server, chromium: Browser) -> None:
    race_id = server.create("corners", start_delay_ms=1000)
    async with open_page(chromium) as ada:
        await ada.page.add_init_script(RECORD_CALLS)
        await take_seat(ada.page, server, race_id)
        bo = await opponent(server, race_id)
        await ada.page.click("#ready")
        await bo.ask(m.Ready)
        await bo.dealt()
        await wait_for_deal(ada.page)
        called = await calls(ada.page)
        assert (called["tones"], called["notifications"]) == (0, [])
        assert not [title for title in called["titles"] if title.startswith("▶")]
        await bo.close()

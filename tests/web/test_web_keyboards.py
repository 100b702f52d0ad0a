"""Keyboards on which a key types another character, on the page."""

import pytest
from playwright.async_api import Browser

from support.browser import IN_BROWSER, join_race, open_page, solo, wait_for_deal
from support.servers import Server

pytestmark = [*IN_BROWSER, pytest.mark.tier(2)]
COUNT_MOVES = """
    window.moves = 0;
    const send = WebSocket.prototype.send;
    WebSocket.prototype.send = function (data) {
        if (JSON.parse(data).t === "move") window.moves += 1;
        send.call(this, data);
    };
"""
PRESS = """async (key) => {
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key, code: "KeyD", bubbles: true }));
    await new Promise((done) => setTimeout(done));
    return window.moves;
}"""


@pytest.mark.parametrize("key", "dDвδ")
async def test_key_for_draw_works_on_every_keyboard(key: str, server: Server, chromium: Browser) -> None:
    async with open_page(chromium) as tab:
        await tab.page.add_init_script(COUNT_MOVES)
        await join_race(tab.page, server, solo(server, "corners"))
        await wait_for_deal(tab.page)
        assert await tab.page.evaluate(PRESS, key) == 1

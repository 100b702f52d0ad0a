"""How many watch a race, on the page and in the overlay."""

import pytest
from playwright.async_api import Browser, Page, expect

from samedeal.wire import messages as m
from support.browser import IN_BROWSER, TIMEOUT_MS, check_layout, open_page
from support.servers import Server, begin_together, racers

pytestmark = [*IN_BROWSER, pytest.mark.tier(2)]


async def until_watching(page: Page, number: int) -> None:
    shown = page.get_by_text("watching", exact=False).filter(visible=True).filter(has_not_text="You are")
    if number:
        await expect(shown).to_have_text(f"{number} watching", timeout=TIMEOUT_MS)
    else:
        await expect(shown).to_have_count(0, timeout=TIMEOUT_MS)


async def test_lobby_race_and_overlay_show_how_many_watch(server: Server, chromium: Browser) -> None:
    race_id = server.create("corners", seed="1", start_delay_ms=0, max_racers=2)
    async with (
        open_page(chromium, 320, 568) as watch,
        open_page(chromium, 1280, 720) as overlay,
        racers(server, "Ada", "Bo", "Eve") as (ada, bo, eve),
    ):
        await watch.page.goto(f"{server.url}/w/{race_id}")
        await overlay.page.goto(f"{server.url}/o/{race_id}")
        for shown in (watch, overlay):
            await until_watching(shown.page, 1)
        await eve.ask(m.Watch, race=race_id)
        for shown in (watch, overlay):
            await until_watching(shown.page, 2)
        await begin_together(race_id, (ada, bo))
        await watch.page.wait_for_selector(".race")
        for shown in (watch, overlay):
            await until_watching(shown.page, 2)
            await check_layout(shown.page)
        await eve.close()
        for shown in (watch, overlay):
            await until_watching(shown.page, 1)
        await watch.page.close()
        await until_watching(overlay.page, 0)
        for shown in (watch, overlay):
            assert shown.errors == []

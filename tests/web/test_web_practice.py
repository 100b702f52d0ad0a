"""Rules pages and practice deals in a browser."""

import pytest
from playwright.async_api import Page

from samedeal.games.catalogue import GAMES
from samedeal.games.lessons import PRACTICE
from samedeal_cli.render.text_table import with_cards
from support.browser import IN_BROWSER, check_layout, give_name, places_of, tap_moves, wait_for_deal, wait_for_ply
from support.servers import Server

pytestmark = [*IN_BROWSER, pytest.mark.tier(2)]


@pytest.mark.parametrize("slug", PRACTICE)
async def test_practice_leads_through_the_first_moves(slug: str, server: Server, page: Page) -> None:
    steps = PRACTICE[slug].steps
    await page.goto(f"{server.url}/rules/{slug}")
    await page.click("button:text-is('Practice')")
    await give_name(page, "ada")
    await wait_for_deal(page)
    for ply, step in enumerate(steps):
        text = (await page.inner_text(".practice")).replace("\ufe0e", "")
        assert text == f"Step {ply + 1} of {len(steps)}. {with_cards(step.text)}"
        wanted = "[...document.querySelectorAll('.wanted')].map((pile) => pile.dataset.place).sort()"
        assert await page.evaluate(wanted) == sorted(places_of(step.move))
        await tap_moves(page, [step.move], ply)
        await wait_for_ply(page, ply + 1)
    assert await page.inner_text(".practice") == "Now you know how it goes: play on."
    await check_layout(page)


async def test_practice_holds_back_other_moves_and_survives_undo_and_reload(server: Server, page: Page) -> None:
    first, second, *_ = PRACTICE["corner-stones"].steps
    position = GAMES["corner-stones"].from_seed(PRACTICE["corner-stones"].seed).after(first.move)
    other = next(move for move in position.moves() if move != second.move)
    await page.goto(f"{server.url}/rules/corner-stones")
    await page.click("button:text-is('Practice')")
    await give_name(page, "ada")
    await wait_for_deal(page)
    await tap_moves(page, [first.move])
    await page.wait_for_selector(".practice:has-text('Step 2 of')")
    await tap_moves(page, [other])
    await page.wait_for_selector(".bubble:has-text('Not yet.')")
    await page.click("button:text-is('Undo')")
    for reload in (False, True):
        if reload:
            await page.reload()
        await page.wait_for_selector(".practice:has-text('Step 1 of')")
    await tap_moves(page, [first.move])
    await page.wait_for_selector(".practice:has-text('Step 2 of')")
    assert not await page.is_visible("button:text-is('Resign')")
    assert not await page.is_visible(".clock")


@pytest.mark.parametrize("slug", GAMES)
async def test_rules_begin_with_five_lines_and_pictures(slug: str, server: Server, page: Page) -> None:
    await page.goto(f"{server.url}/rules/{slug}")
    await page.wait_for_selector(".rules .table .card")
    assert await page.locator(".rules > ol > li").count() == 5
    assert await page.locator(".rules figure .table").count() == 2
    assert await page.locator(".rules details[open]").count() == 0
    await page.click("summary:text-is('Rulings')")
    assert await page.is_visible("th:text-is('Ruling')")
    links = await page.eval_on_selector_all(".rules a", "(links) => links.map((link) => link.pathname)")
    assert {link.partition(":")[0] for link in links} <= {f"/rules/{other}" for other in GAMES} | {f"/practice/{slug}"}
    for width in (320, 1440):
        await page.set_viewport_size({"width": width, "height": 844})
        await check_layout(page)

"""Rules pages and practice deals in a browser."""

import pytest
from playwright.async_api import Browser, Page

from samedeal.games.catalogue import GAMES
from samedeal.games.lessons import PRACTICE
from samedeal_cli.render.text_table import with_cards
from support.browser import IN_BROWSER, check_layout, give_name, open_page, places_of, tap, wait_for_deal
from support.move_buttons import complete
from support.servers import Server, racers

pytestmark = [*IN_BROWSER, pytest.mark.tier(2)]


@pytest.mark.parametrize("slug", ["corners", "the-edge"])
async def test_practice_leads_through_the_first_moves(slug: str, quiet: Server, page: Page) -> None:
    steps = PRACTICE[slug].steps
    await page.goto(f"{quiet.url}/rules/{slug}")
    await page.click("a:text-is('Learn it in a minute')")
    await page.wait_for_selector(".practice")
    for ply, step in enumerate(steps):
        await page.wait_for_selector(f".practice:has-text('Step {ply + 1} of {len(steps)}.')")
        text = (await page.inner_text(".practice")).replace("\ufe0e", "")
        assert text == f"Step {ply + 1} of {len(steps)}. {with_cards(step.text)}"
        wanted = "[...document.querySelectorAll('.wanted')].map((pile) => pile.dataset.place).sort()"
        assert await page.evaluate(wanted) == sorted(places_of(step.move))
        await make_step(page, step.move)
    await page.wait_for_selector(".practice:text-is('That’s how it works. Keep playing.')")
    await check_layout(page)


async def make_step(page: Page, move: str) -> None:
    """Make a move by tapping, which can need the button that completes it."""
    await tap(page, *places_of(move))
    await complete(page, move)
    if await page.is_enabled("button[aria-label='Make this move']"):
        await page.evaluate("document.querySelector('button[aria-label=\"Make this move\"]').click()")


async def test_practice_holds_back_other_moves_and_survives_undo_and_reload(quiet: Server, page: Page) -> None:
    first, second, *_ = PRACTICE["corner-stones"].steps
    position = GAMES["corner-stones"].from_seed(PRACTICE["corner-stones"].seed).after(first.move)
    other = next(move for move in position.moves() if move != second.move)
    await page.goto(f"{quiet.url}/rules/corner-stones")
    await page.click("a:text-is('Learn it in a minute')")
    await page.wait_for_selector(".practice:has-text('Step 1 of')")
    await make_step(page, first.move)
    await page.wait_for_selector(".practice:has-text('Step 2 of')")
    await make_step(page, other)
    await page.wait_for_selector("#status:has-text('Not yet.')")
    await page.reload()
    await page.wait_for_selector(".practice:has-text('Step 2 of')")
    await page.click("button:text-is('Undo')")
    await page.wait_for_selector(".practice:has-text('Step 1 of')")
    await make_step(page, first.move)
    await page.wait_for_selector(".practice:has-text('Step 2 of')")
    assert await page.locator("button:text-is('Resign')").count() == 0
    assert await page.locator(".clock").count() == 0


async def test_who_is_invited_can_try_the_game_and_take_a_seat_from_there(quiet: Server, chromium: Browser) -> None:
    race_id = quiet.create("corners", seed="try", max_racers=2, start_delay_ms=500)
    async with open_page(chromium) as tab, racers(quiet, "bo") as (bo,):
        page = tab.page
        await bo.join(race_id)
        await page.goto(f"{quiet.url}/r/{race_id}")
        await page.click("button:text-is('Try it first')")
        await page.wait_for_selector(".practice:has-text('Step 1 of')")
        await make_step(page, PRACTICE["corners"].steps[0].move)
        await page.wait_for_selector(".practice:has-text('Step 2 of')")
        assert page.url == f"{quiet.url}/r/{race_id}", "the address stays that of the race"
        await check_layout(page)
        await page.click("button:text-is('Take a seat')")
        await give_name(page, "ada")
        await page.click("button:text-is('Practise while you wait')")
        await page.wait_for_selector(".practice:has-text('Step 1 of')")
        await page.click("button:text-is('Back to the lobby')")
        await page.wait_for_selector(".practice", state="detached")
        await page.click("button:text-is('Practise while you wait')")
        await page.wait_for_selector(".practice:has-text('Step 1 of')")
        await page.click("#ready")
        await bo.begin(race_id)
        await wait_for_deal(page)
        assert await page.locator(".practice").count() == 0
        assert not tab.errors


@pytest.mark.parametrize("slug", ["corners", "gallery"])
async def test_rules_begin_with_five_lines_and_pictures(slug: str, quiet: Server, page: Page) -> None:
    await page.goto(f"{quiet.url}/rules/{slug}")
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

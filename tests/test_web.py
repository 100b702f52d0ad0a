"""The page in a real browser: races by tap, by key and by drag, watched, replayed, and fit for everybody."""

import re
from collections.abc import AsyncIterator, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page

from pages import BROWSER, WINS, browser, dealt, made, opened, overflow, seated, tab, tap_all, taps
from samedeal import messages as m
from samedeal.catalogue import GAMES
from servers import Server, racers

pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="no browser is installed (chromium)"),
    pytest.mark.xdist_group("browser"),
]
AXE = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
SIZES = ((320, 568), (390, 844), (768, 1024), (1440, 900))
MOST_BYTES = 150_000
SOLO: dict[str, Any] = {"max_racers": 1, "start_delay_ms": 0}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(data_dir=tmp_path_factory.mktemp("page")) as running:
        yield running


@pytest.fixture
async def chromium() -> AsyncIterator[Browser]:
    async with browser() as running:
        yield running


def solo(server: Server, slug: str, **options: Any) -> str:
    """A race of one on the deal of the recorded win."""
    return server.create(slug, seed=WINS[slug]["seed"], **SOLO | options)


async def serious(page: Page) -> list[str]:
    """What axe finds on a page that keeps people out."""
    await page.evaluate(AXE)
    found = await page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{fault['id']}: {fault['help']}: {[node['html'][:160] for node in fault['nodes'][:3]]}"
        for fault in found["violations"]
        if fault["impact"] in ("serious", "critical")
    ]


# Whole races.


@pytest.mark.parametrize("slug", sorted(GAMES))
async def test_a_whole_race_is_won_by_tapping(slug: str, server: Server, chromium: Browser) -> None:
    race = solo(server, slug)
    async with opened(chromium, has_touch=True) as watched:
        await seated(watched.page, server, race)
        await dealt(watched.page)
        await tap_all(watched.page, WINS[slug]["moves"])
        await watched.page.wait_for_selector("text=/Won in .*: 1st of 1/")
        await watched.page.wait_for_selector("text=Verified: every move")
        assert not watched.faults
        assert not watched.foreign(server)
    replay = await server.replay(race)
    assert replay.standings[0].outcome == "won"


async def test_a_whole_race_is_won_by_keyboard(server: Server, chromium: Browser) -> None:
    race = solo(server, "corners")
    async with opened(chromium, 1024, 768) as watched:
        page = watched.page
        await page.goto(f"{server.url}/r/{race}")
        await page.keyboard.type("ada")
        await page.keyboard.press("Enter")
        await page.wait_for_selector("#ready")
        await page.focus("#ready")
        await page.keyboard.press("Enter")
        await dealt(page)
        moves = WINS["corners"]["moves"]
        for ply, move in enumerate(moves, start=1):
            if move == "draw":
                await page.keyboard.press("d")
            else:
                (place,) = taps(move)
                await walk(page, place)
                await page.keyboard.press("Enter")
            if ply < len(moves):
                await made(page, ply)
        await page.wait_for_selector("text=/Won in .*: 1st of 1/")
        assert not watched.faults


async def walk(page: Page, place: str) -> None:
    """Moves the focus to a pile with the arrow keys, as one would who sees where it lies."""
    middle = (
        "(pile) => { const b = pile.getBoundingClientRect(); return [b.left + b.width / 2, b.top + b.height / 2]; }"
    )
    target = await page.locator(f'[data-place="{place}"]').evaluate(middle)
    been: list[str | None] = []
    for _ in range(40):
        here = page.locator(":focus")
        if await here.get_attribute("data-place") == place:
            return
        x, y = await here.evaluate(middle)
        dx, dy = target[0] - x, target[1] - y
        ways = ["ArrowRight" if dx > 0 else "ArrowLeft", "ArrowDown" if dy > 0 else "ArrowUp"]
        before = await here.get_attribute("data-place")
        been.append(before)
        for way in ways if (abs(dx) > abs(dy)) == been.count(before) % 2 else ways[::-1]:
            await page.keyboard.press(way)
            if await page.locator(":focus").get_attribute("data-place") != before:
                break
    raise AssertionError(f"{place} cannot be reached by arrow keys")


# Tables.


async def test_a_card_is_dragged_and_one_dragged_amiss_goes_back(server: Server, chromium: Browser) -> None:
    race = solo(server, "corner-stones")
    async with opened(chromium, 1024, 768) as watched:
        page = watched.page
        await seated(page, server, race)
        await dealt(page)
        source, target = taps(WINS["corner-stones"]["moves"][0])
        await drag(page, source, "u1" if target != "u1" else "u2")
        await page.wait_for_selector(f"#status:text('{source} cannot go to')")
        await drag(page, source, target)
        await made(page, 1)
        assert not watched.faults


async def drag(page: Page, source: str, target: str) -> None:
    card = page.locator(f'[data-place="{source}"] .card').last
    start, end = await card.bounding_box(), await page.locator(f'[data-place="{target}"]').bounding_box()
    assert start
    assert end
    await page.mouse.move(start["x"] + 15, start["y"] + 15)
    await page.mouse.down()
    await page.mouse.move(start["x"] + 30, start["y"] + 30, steps=3)
    await page.mouse.move(end["x"] + 15, end["y"] + 15, steps=5)
    await page.mouse.up()


async def test_a_double_tap_sends_a_card_home(server: Server, chromium: Browser) -> None:
    race = solo(server, "corner-stones")
    async with opened(chromium) as watched:
        await seated(watched.page, server, race)
        await dealt(watched.page)
        source, _ = taps(WINS["corner-stones"]["moves"][0])
        await watched.page.dblclick(f'[data-place="{source}"]', position={"x": 12, "y": 12})
        await made(watched.page, 1)


async def test_undo_and_restart_and_a_refusal_in_words(server: Server, chromium: Browser) -> None:
    race = solo(server, "corner-stones")
    first, *_ = WINS["corner-stones"]["moves"]
    async with opened(chromium) as watched:
        page = watched.page
        await seated(page, server, race)
        await dealt(page)
        await tap_all(page, [first])
        await made(page, 1)
        await page.click("button:text-is('Undo')")
        await made(page, 2)
        await tap_all(page, [first], first=2)
        await made(page, 3)
        await page.click("text=Restart")
        await page.click("dialog >> text=No")
        await page.click("text=Restart")
        await page.click("dialog >> text=Yes")
        await made(page, 4)
        assert "attempt 2" in await page.inner_text(".rail")
        # What the page does not offer, the server refuses, and the page says why.
        await page.click('[data-place="u1"]')
        assert "cannot move" in await page.inner_text("#status")


# Coming and going.


async def test_a_reload_in_the_middle_finds_the_table_as_it_was(server: Server, chromium: Browser) -> None:
    race = solo(server, "gallery")
    moves = WINS["gallery"]["moves"]
    async with opened(chromium) as watched:
        page = watched.page
        await seated(page, server, race)
        await dealt(page)
        await tap_all(page, moves[:6])
        await made(page, 6)
        await page.reload()
        await page.wait_for_selector('.table[data-ply="6"]')
        await tap_all(page, moves[6:9], first=6)
        await made(page, 9)
        assert not watched.faults


async def test_a_second_tab_takes_the_seat_and_the_first_says_so(server: Server, chromium: Browser) -> None:
    race = solo(server, "corners")
    async with opened(chromium) as first:
        await seated(first.page, server, race)
        await dealt(first.page)
        second = await tab(first.page.context)
        await second.page.goto(f"{server.url}/r/{race}")
        await dealt(second.page)
        await first.page.wait_for_selector("text=Continued in another window")
        await tap_all(second.page, ["r2"])
        await made(second.page, 1)
        await first.page.click("text=Take it back")
        await first.page.wait_for_selector('.table[data-ply="1"]')
        await second.page.wait_for_selector("text=Continued in another window")


async def test_a_server_that_was_away_comes_back_to_the_same_race(tmp_path: Path, chromium: Browser) -> None:
    with Server(data_dir=tmp_path / "data") as server:
        race = server.create("corners", seed=WINS["corners"]["seed"], **SOLO)
        async with opened(chromium) as watched:
            await seated(watched.page, server, race)
            await dealt(watched.page)
            port = server.port
            server.kill()
            await watched.page.wait_for_selector("text=Reconnecting")
            server.start(port)
            await watched.page.wait_for_selector(".dot.up")
            await tap_all(watched.page, ["r2"])
            await made(watched.page, 1)


async def test_two_race_on_a_sealed_deal_and_rivals_are_seen_only_as_counts(server: Server, chromium: Browser) -> None:
    race = server.create("corners", start_delay_ms=1000)
    async with opened(chromium) as watched, racers(server, "bo") as (bo,):
        page = watched.page
        await seated(page, server, race)
        await bo.begin(race)
        await dealt(page)
        assert "bo" in await page.inner_text(".rail")
        assert await page.locator(".table").count() == 1
        await page.click("text=Resign")
        await page.click("dialog >> text=Yes")
        await bo.ask(m.Resign)
        await page.wait_for_selector("text=/1st of 2/")
        await page.wait_for_selector("text=Verified: every move")
        await page.wait_for_selector("text=/you and bo|You and bo/")
        assert not watched.faults


async def test_a_full_race_offers_to_look_on(server: Server, chromium: Browser) -> None:
    race = solo(server, "corners")
    async with opened(chromium) as watched, racers(server, "bo") as (bo,):
        await bo.begin(race)
        page = watched.page
        await page.goto(f"{server.url}/r/{race}")
        await page.wait_for_selector("text=You look on")
        await page.wait_for_selector("text=Tables are shown when the race is over")
        assert "bo" in await page.inner_text(".rail")
        assert not watched.faults


# Replays.


async def test_a_replay_is_scrubbed_and_a_linked_move_is_shown(server: Server, chromium: Browser) -> None:
    race = solo(server, "corners")
    moves = WINS["corners"]["moves"]
    async with racers(server, "bo") as (bo,):
        await bo.begin(race)
        for move in moves:
            await bo.move(move)
    await server.replay(race)
    async with opened(chromium, 1024, 768) as watched:
        page = watched.page
        await page.goto(f"{server.url}/replay/{race}#m12")
        await page.wait_for_selector(f"text=/move 12 of {len(moves)}: {re.escape(moves[11])}/")
        await page.keyboard.press("ArrowRight")
        await page.wait_for_selector("text=/move 13 of/")
        assert page.url.endswith("#m13")
        await page.keyboard.press("End")
        await page.wait_for_selector(f"text=/move {len(moves)} of/")
        assert "48/48" in await page.inner_text(".tables figcaption")
        box = await page.locator(".scrubber").bounding_box()
        assert box
        await page.mouse.click(box["x"] + 2, box["y"] + box["height"] / 2)
        await page.wait_for_selector("text=The deal")
        await page.evaluate("location.hash = '#m3'")
        await page.wait_for_selector("text=/move 3 of/")
        await page.wait_for_selector("text=Verified: every move")
        await page.click("button:text-is('Play')")
        await page.wait_for_selector(f"text=/move {len(moves)} of/")
        assert not watched.faults


async def test_two_racers_are_compared_on_one_clock(server: Server, chromium: Browser) -> None:
    race = server.create("corners", seed="7", max_racers=2, start_delay_ms=0)
    async with racers(server, "ada", "bo") as (ada, bo):
        for racer in (ada, bo):
            await racer.join(race)
        await ada.ask(m.Ready)
        await bo.ask(m.Ready)
        for racer, count in ((ada, 5), (bo, 2)):
            await racer.until(lambda view: view.stage == "running")
            for _ in range(count):
                await racer.move((racer.board.moves or [])[0])
            await racer.ask(m.Resign)
    await server.replay(race)
    async with opened(chromium, 1440, 900) as watched:
        page = watched.page
        await page.goto(f"{server.url}/replay/{race}")
        await page.wait_for_selector(".tables .table")
        await page.click(".side li:not(.chosen) button")
        assert await page.locator(".tables .table").count() == 2
        await page.keyboard.press("End")
        assert await page.locator(".tables figcaption .count").all_inner_texts()
        assert not watched.faults


# Fit for everybody.


async def pages_of(server: Server, chromium: Browser) -> list[str]:
    """Every kind of page, with something on it."""
    race = solo(server, "corner-stones")
    async with racers(server, "bo") as (bo,):
        await bo.begin(race)
        for move in WINS["corner-stones"]["moves"][:10]:
            await bo.move(move)
        await bo.ask(m.Resign)
    await server.replay(race)
    waiting = server.create("gallery")
    return ["/", f"/r/{waiting}", f"/w/{waiting}", f"/r/{race}", f"/replay/{race}#m5", "/rules/gallery"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_axe_finds_nothing_serious_on_any_page(scheme: Any, server: Server, chromium: Browser) -> None:
    for address in await pages_of(server, chromium):
        async with opened(chromium, color_scheme=scheme) as watched:
            await watched.page.goto(server.url + address)
            await watched.page.wait_for_selector("main > *:not(.wait)")
            await watched.page.wait_for_timeout(600)
            assert not await serious(watched.page), address


@pytest.mark.parametrize("slug", sorted(GAMES))
async def test_axe_finds_nothing_serious_at_a_table(slug: str, server: Server, chromium: Browser) -> None:
    for scheme in ("light", "dark"):
        race = solo(server, slug)
        async with opened(chromium, 320, 568, color_scheme=scheme) as watched:
            await seated(watched.page, server, race)
            await dealt(watched.page)
            await tap_all(watched.page, WINS[slug]["moves"][:4])
            await made(watched.page, 4)
            await watched.page.click("summary")
            assert not await serious(watched.page)


async def test_nothing_overflows_and_nothing_comes_from_elsewhere(server: Server, chromium: Browser) -> None:
    addresses = await pages_of(server, chromium)
    for width, height in SIZES:
        for address in addresses:
            async with opened(chromium, width, height) as watched:
                await watched.page.goto(server.url + address)
                await watched.page.wait_for_selector("main > *:not(.wait)")
                await watched.page.wait_for_timeout(400)
                assert await overflow(watched.page) <= 0, (address, width)
                assert not watched.faults, (address, width)
                assert not watched.foreign(server)


@pytest.mark.parametrize("slug", sorted(GAMES))
async def test_every_table_fits_every_window_with_room_to_tap(slug: str, server: Server, chromium: Browser) -> None:
    race = solo(server, slug)
    async with opened(chromium) as watched:
        page = watched.page
        await seated(page, server, race)
        await dealt(page)
        for width, height in (*SIZES, (844, 390)):
            await page.set_viewport_size({"width": width, "height": height})
            assert await overflow(page) <= 0, width
            for pile in await page.locator(".pile").all():
                box = await pile.bounding_box()
                assert box
                assert box["width"] >= 24, (width, box)
                assert box["height"] >= 24, (width, box)
                assert box["x"] >= 0, (width, box)
                assert box["x"] + box["width"] <= width, (width, box)


async def test_the_whole_page_is_small(server: Server, chromium: Browser) -> None:
    race = solo(server, "corner-stones")
    async with opened(chromium) as watched:
        await seated(watched.page, server, race)
        await dealt(watched.page)
        assert sum(watched.fetched.values()) < MOST_BYTES


async def test_what_happens_is_said(server: Server, chromium: Browser) -> None:
    race = solo(server, "corners")
    async with opened(chromium) as watched:
        page = watched.page
        await seated(page, server, race)
        await dealt(page)
        await tap_all(page, ["r2"])
        await made(page, 1)
        await page.wait_for_selector("#status:text('to f')")
        await page.click("summary")
        await page.click("text=Say board")
        said = await page.inner_text("#status")
        assert "stock: " in said
        assert "face down" in said
        assert await page.locator('[data-place="r1"]').get_attribute("aria-label") == await page.evaluate(
            "document.querySelector('[data-place=r1]').ariaLabel"
        )


async def test_a_race_that_is_not_there_is_told_so(server: Server, chromium: Browser) -> None:
    async with opened(chromium) as watched:
        response = await watched.page.goto(f"{server.url}/r/no-such-race-1")
        assert response
        assert response.status == 404

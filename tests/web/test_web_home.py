"""The front page: the games, the button to race a friend, today's deals, and the lists of races."""

import json

import pytest
from playwright.async_api import Browser, Page, Route

from samedeal.games.catalogue import GAMES
from support.browser import (
    IN_BROWSER,
    check_layout,
    find_violations,
    open_as,
    open_page,
    overflow,
    resign,
    take_seat,
    wait_for_deal,
)
from support.servers import Server, begin_together, racers, resign_all

pytestmark = [*IN_BROWSER, pytest.mark.tier(2)]
SIZES = ((320, 568), (390, 844), (844, 390), (768, 1024), (1440, 900))
CARDS_OUTSIDE = """() => [...document.querySelectorAll(".miniature")].filter((miniature) => {
    const box = miniature.getBoundingClientRect();
    return [...miniature.querySelectorAll(".card")].map((card) => card.getBoundingClientRect()).some(
        ({ left, right, top, bottom }) =>
            left < box.left - 1 || right > box.right + 1 || top < box.top - 1 || bottom > box.bottom + 1);
}).length"""


async def test_each_game_has_a_picture_its_pitch_and_two_buttons(server: Server, page: Page) -> None:
    await page.goto(server.url)
    for game in GAMES.values():
        tile = page.locator(".tiles li").filter(has=page.locator(f"h3:text-is('{game.title}')"))
        assert game.pitch in (await tile.text_content() or "")
        assert await tile.locator(".miniature[aria-hidden] .card").count() >= 8
        assert await tile.locator(f"button[aria-label='Race a friend at {game.title}']").is_visible()
        assert await tile.locator(f"button[aria-label='Play alone: {game.title}']").is_visible()
    assert not await find_violations(page)
    for width, height in SIZES:
        await page.set_viewport_size({"width": width, "height": height})
        assert await page.evaluate(CARDS_OUTSIDE) == 0, width
        assert await overflow(page) <= 0, width


async def test_the_quickest_games_are_first_and_the_corner_collection_is_apart(server: Server, page: Page) -> None:
    await page.goto(server.url)
    for name, title in (("", "Games"), ("corner", "The corner collection")):
        games = sorted((game for game in GAMES.values() if game.collection == name), key=lambda game: game.limit_ms)
        titles = page.locator(f"section[aria-label='{title}'] h3")
        await titles.first.wait_for()
        assert await titles.all_inner_texts() == [game.title for game in games]
    assert await page.locator(".tiles li:has-text('a good first race') h3").all_inner_texts() == ["Golf"]


async def test_race_a_friend_opens_a_short_private_race_and_tiles_open_their_game(server: Server, page: Page) -> None:
    await page.goto(server.url)
    await page.click("button:text-is('Race a friend')")
    await page.wait_for_selector("dialog #name:focus")
    await check_layout(page)
    await open_as(page)
    await page.wait_for_selector("#ready")
    first = page.url
    _, view = server.get(f"/api/v1/races/{first.rpartition('/')[2]}")
    header = json.loads(view)["header"]
    assert header["game"] == "golf"
    assert header["options"]["limit_ms"] == 120_000
    assert header["options"]["unlisted"]
    assert header["options"]["end_when_stuck"]
    await page.goto(server.url)
    await page.click("button[aria-label='Race a friend at Gallery']")
    await page.wait_for_selector("#ready")  # the name is known
    assert await page.inner_text("h1") == "Gallery"
    assert page.url != first


async def test_play_now_races_a_bot_if_nobody_waits(server: Server, page: Page) -> None:
    await page.route("**/api/v1/races?stage=open*", lambda route: route.fulfill(json={"races": [], "next": None}))
    await page.goto(server.url)
    await page.click("button:text-is('Play now')")
    await open_as(page)
    await wait_for_deal(page)
    _, view = server.get(f"/api/v1/races/{page.url.rpartition('/')[2]}")
    race = json.loads(view)
    assert race["header"]["game"] == "golf"
    assert [standing["name"] for standing in race["standings"]] == ["ada", "Deuce"]
    await resign(page)


async def test_play_now_joins_the_race_that_waits_longest(server: Server, chromium: Browser) -> None:
    first, second = server.create("corners", max_racers=2), server.create("gallery", max_racers=2)
    async with racers(server, "bo", "cy") as (bo, cy), open_page(chromium) as tab:
        await bo.join(first)
        await cy.join(second)

        async def only_these(route: Route) -> None:
            listed = await (await route.fetch()).json()
            races = [race for race in listed["races"] if race["race"] in (first, second)]
            rematch = races[-1] | {"race": "calm-otter-1", "follows": "calm-otter-2"}
            await route.fulfill(json={"races": [*races, rematch], "next": None})

        await tab.page.route("**/api/v1/races?stage=open*", only_these)
        await tab.page.goto(server.url)
        await tab.page.click("button:text-is('Play now')")
        await open_as(tab.page)
        await tab.page.wait_for_selector("#ready:text-is('Cancel ready')")
        assert tab.page.url == f"{server.url}/r/{first}"
        assert not tab.errors


async def test_a_race_can_be_joined_by_its_name_or_link(server: Server, page: Page) -> None:
    race_id = server.create("corners")
    for text in (race_id, f" {server.url}/r/{race_id}"):
        await page.goto(server.url)
        await page.fill("#race", text)
        await page.keyboard.press("Enter")
        await page.wait_for_selector("button:text-is('Take a seat')")
        assert page.url == f"{server.url}/r/{race_id}"


async def test_a_link_can_fill_in_the_settings_of_a_race(server: Server, page: Page) -> None:
    await page.goto(f"{server.url}/?game=gallery&limit=7&best_of=3&undo=false&nonsense=1")
    await page.wait_for_selector("#game:visible")
    values = await page.locator("#game, #limit, #best_of").evaluate_all("all => all.map(({ value }) => value)")
    assert values == ["gallery", "7", "3"]
    assert not await page.is_checked("#undo")
    await page.click("button:text-is('Create a race')")
    await open_as(page)
    await page.wait_for_selector(".terms > summary:has-text('best of 3 · 7 min · no undo')")


async def test_the_header_leads_to_the_players_own_page(server: Server, page: Page) -> None:
    await page.goto(server.url)
    assert await page.locator("#top .me").count() == 0
    await take_seat(page, server, server.create("corners"), "ada")
    await page.goto(server.url)
    await page.click("#top .me a:has-text('ada')")
    await page.wait_for_selector("h1:has-text('ada (you)')")
    await page.wait_for_selector("nav[aria-label='Calendar'] li >> nth=13")
    await check_layout(page)


async def test_play_alone_deals_at_once(server: Server, page: Page) -> None:
    await page.goto(server.url)
    await page.click("button[aria-label='Play alone: Corner Stones']")
    await page.wait_for_selector(".start button:text-is('Play')")
    race_id = page.url.rpartition("/")[2]
    assert race_id not in await page.inner_text("body")
    assert await page.locator("button:text-is('Watch')").count() == 0
    assert await page.input_value("#name") == " ".join(word.capitalize() for word in race_id.split("-")[:2])
    assert not await find_violations(page)
    assert await overflow(page) <= 0
    await page.click("button:text-is('Play')")
    await wait_for_deal(page)
    _, view = server.get(f"/api/v1/races/{page.url.rpartition('/')[2]}")
    assert json.loads(view)["header"]["options"]["unlisted"]


async def test_open_and_running_races_have_lists_of_their_own(server: Server, page: Page) -> None:
    waiting = server.create("the-edge")
    running = server.create("corners", seed="7", max_racers=2, start_delay_ms=0)
    empty = server.create("the-edge")
    async with racers(server, "ada", "bo") as players, racers(server, "cy") as (cy,):
        await cy.join(waiting)
        await begin_together(running, players)
        await page.goto(server.url)
        lists = {name: page.locator(f"section[aria-label='{name}']") for name in ("Open races", "Running now")}
        await lists["Running now"].locator(f"li:has-text('{running}, 2 racing')").wait_for()
        await lists["Open races"].locator(f"li:has-text('{waiting}, 1 of 8 seats taken')").wait_for()
        assert waiting not in await lists["Running now"].inner_text()
        assert empty not in await lists["Open races"].inner_text()
        assert running not in await lists["Open races"].inner_text()
        await page.click(f"a[aria-label='Watch Corners, {running}']")
        await page.wait_for_selector("text=watching")
        await resign_all(players)


async def test_the_front_page_says_so_if_the_lists_are_unavailable(server: Server, page: Page) -> None:
    for path in ("daily", "races", "replays"):
        await page.route(f"**/api/v1/{path}?*", lambda route: route.abort())
    await page.goto(server.url)
    await page.wait_for_selector("section[aria-label='Open races']:has-text('Cannot connect to the server.')")
    await page.wait_for_selector("section[aria-label='Deal of the day']:has-text('Cannot connect to the server.')")
    assert await page.is_visible("button[aria-label='Race a friend at Gallery']")

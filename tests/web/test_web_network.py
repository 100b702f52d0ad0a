"""The page races through a network with latency, jitter, low bandwidth and lost connections."""

import asyncio
from contextlib import suppress

import pytest
from playwright.async_api import Browser, Page, Route
from playwright.async_api import TimeoutError as PlaywrightTimeout

from samedeal.wire import messages as m
from support.browser import (
    FINISHED,
    IN_BROWSER,
    SOLO,
    give_name,
    open_page,
    open_row,
    places_of,
    resign,
    tap,
    tap_moves,
    verified,
    wait_for_deal,
    wait_for_ply,
)
from support.faulty_proxy import Proxy
from support.network_races import WIN, Rival, check_replay, moves_of, open_race
from support.servers import Server, racers
from support.vectors import WINS
from support.waiting import until

pytestmark = [*IN_BROWSER, pytest.mark.tier(2)]
SHOWN = """[...document.querySelectorAll(".rows .standings:not(.ghosts) li")].map((item) =>
    [".place", ".text", ".count"].map((part) => item.querySelector(part).textContent).join(" "))"""


async def take_seat(page: Page, proxy: Proxy, race: str) -> None:
    """Take a seat through a proxy."""
    await page.goto(f"{proxy.url}/r/{race}")
    await give_name(page)


async def tap_ahead(page: Page, moves: list[str], first: int = 0) -> None:
    """Make moves by tapping, without waiting for answers between draws."""
    while first < len(moves):
        draws = next((at for at, move in enumerate(moves[first:]) if move != "draw"), len(moves) - first)
        await tap(page, *(["stock"] * draws or places_of(moves[first])))
        first += draws or 1
        await wait_for_ply(page, first)


async def race_on_the_page(server: Server, chromium: Browser, proxy: Proxy, moves: list[str], cut_at: int = 0) -> None:
    """Play moves and resign, against a rival, through a proxy, which is cut at a move if that is not 0."""
    race = open_race(server)
    bo = Rival("bo")
    async with open_page(chromium) as watched:
        page = watched.page
        await bo.connect(server)
        try:
            racing = asyncio.create_task(bo.compete(race))
            await take_seat(page, proxy, race)
            await page.click("#ready")
            await wait_for_deal(page)
            if cut_at:
                await tap_ahead(page, moves[:cut_at])
                proxy.cut()
                await page.wait_for_selector(".banner:has-text('Reconnecting')")
                await tap(page, *places_of(moves[cut_at]))
                await until(lambda: proxy.refused >= 2)
                proxy.resume()
                await wait_for_ply(page, cut_at + 1)
            await tap_ahead(page, moves, cut_at + bool(cut_at))
            await resign(page)
            await racing
        finally:
            await bo.close()
        await verified(page)
        await open_row(page, "Scores")
        replay = await check_replay(server, race, "ada", moves)
        shown = [f"{each.place}. {each.name} {each.home}/{each.goal}" for each in replay.standings]
        assert await page.evaluate(SHOWN) == shown
        assert [error for error in watched.errors if not (cut_at and "WebSocket connection to" in error)] == []


@pytest.mark.tier(1)
async def test_page_plays_taps_made_before_the_answers(server: Server, chromium: Browser) -> None:
    async with Proxy(server.url, round_trip_ms=100, jitter_ms=20) as proxy:
        await race_on_the_page(server, chromium, proxy, WIN["moves"][:12])


@pytest.mark.tier(3)
@pytest.mark.parametrize("round_trip_ms", [20, 400])
async def test_page_plays_taps_made_before_the_answers_on_other_networks(
    round_trip_ms: int, server: Server, chromium: Browser
) -> None:
    async with Proxy(server.url, round_trip_ms=round_trip_ms, jitter_ms=round_trip_ms / 2) as proxy:
        await race_on_the_page(server, chromium, proxy, WIN["moves"][:12])


async def test_page_plays_on_through_a_slow_network_that_is_cut(server: Server, chromium: Browser) -> None:
    """A tap while the connection is lost is played when the server accepts connections again."""
    async with Proxy(server.url, round_trip_ms=20, jitter_ms=5) as proxy:
        proxy.bytes_per_s = 100_000
        await race_on_the_page(server, chromium, proxy, WIN["moves"][:12], cut_at=4)


async def test_second_tap_before_the_answer_places_no_card_that_was_not_seen(server: Server, chromium: Browser) -> None:
    first, second, third, *_ = WINS["kings-in-the-corners"]["moves"]
    race = server.create("kings-in-the-corners", seed=WINS["kings-in-the-corners"]["seed"], **SOLO)
    async with Proxy(server.url) as proxy, open_page(chromium) as watched:
        page = watched.page
        await take_seat(page, proxy, race)
        await wait_for_deal(page)
        await tap_moves(page, [first])
        await wait_for_ply(page, 1)
        proxy.stall()
        await tap(page, second)
        await page.evaluate(FINISHED)
        sent_ahead = await page.locator(".card.moving").bounding_box()
        await tap(page, third)
        await page.evaluate(FINISHED)
        assert await page.locator(".card.moving").bounding_box() == sent_ahead
        proxy.resume()
        await page.wait_for_selector(".note .refused:has-text('1 queued move was dropped')")
        await resign(page)
        assert moves_of(await server.replay(race, 60), "ada") == [first, second]


@pytest.mark.parametrize("kind", ["race", "spectator", "overlay"])
async def test_page_notices_a_connection_that_died_silently(kind: str, server: Server, chromium: Browser) -> None:
    race = open_race(server, spectators="open")
    async with Proxy(server.url) as proxy, open_page(chromium) as watched, racers(server, "bo") as (bo,):
        page = watched.page
        await page.clock.install()
        await bo.join(race)
        if kind == "race":
            await take_seat(page, proxy, race)
            await page.wait_for_selector("#ready")
        else:
            await page.goto(f"{proxy.url}/{'w' if kind == 'spectator' else 'o'}/{race}")
            await page.wait_for_selector('text="bo"')
        if kind == "race":
            await bo.ask(m.Ready)
            await page.click("#ready")
            await wait_for_deal(page)
        proxy.abandon()
        proxy.stall()
        for _ in range(2):
            await page.clock.fast_forward(30_000)
        if kind != "overlay":
            await page.wait_for_selector(".dot:text-is('reconnecting')")
        proxy.resume()
        if kind == "race":
            await tap_moves(page, WIN["moves"][:1])
            await wait_for_ply(page, 1)
            return
        await bo.ask(m.Leave)
        for _ in range(30):  # the overlay may try every idle connection of the browser, each of which is dead, too
            with suppress(PlaywrightTimeout):
                await page.wait_for_selector(".standings:not(:has-text('bo'))", state="attached", timeout=1000)
                return
            await page.clock.fast_forward(40_000)
        raise AssertionError("the page still shows a player who has left")


async def test_page_notices_at_once_that_the_device_is_offline(server: Server, chromium: Browser) -> None:
    async with Proxy(server.url) as proxy, open_page(chromium) as watched:
        page = watched.page
        await take_seat(page, proxy, server.create("corners", seed=WIN["seed"], **SOLO))
        await wait_for_deal(page)
        await page.clock.install()
        await page.clock.pause_at(await page.evaluate("Date.now()") + 1000)  # no timer helps
        proxy.stall()
        await page.evaluate("dispatchEvent(new Event('offline'))")
        await page.wait_for_selector(".dot:text-is('reconnecting')")
        await page.wait_for_selector(".banner:has-text('Reconnecting')")
        proxy.resume()
        await page.evaluate("dispatchEvent(new Event('online'))")
        await page.wait_for_selector(".dot.up")


async def test_race_reloaded_offline_recovers_when_it_is_online(server: Server, chromium: Browser) -> None:
    race = server.create("corners", seed=WIN["seed"], **SOLO)
    async with Proxy(server.url) as proxy, open_page(chromium, service_workers="allow") as watched:
        page = watched.page
        await take_seat(page, proxy, race)
        await wait_for_deal(page)
        await page.evaluate("navigator.serviceWorker.ready.then(() => true)")
        await page.context.set_offline(True)
        await page.reload()
        await page.wait_for_selector("text=Cannot connect to the server")
        await page.context.set_offline(False)
        with suppress(PlaywrightTimeout):
            await page.wait_for_selector("text=Cannot connect to the server", state="hidden", timeout=5_000)
        assert await page.locator("text=Cannot connect to the server").count() == 0
        await wait_for_deal(page)


async def test_results_are_verified_although_the_server_could_not_be_reached(server: Server, page: Page) -> None:
    attempts = list[str]()

    async def abort(route: Route) -> None:
        attempts.append(route.request.url)
        await route.abort()

    async with racers(server, "bo") as (bo,):
        race = server.create("corners", seed="1", **SOLO)
        await bo.begin(race)
        await bo.ask(m.Resign)
    await server.replay(race)
    await page.clock.install()
    for path in ("/api/v1/replays/*.json", "/api/v1/verify"):
        await page.route(f"{server.url}{path}", abort)
        attempts.clear()
        await page.goto(f"{server.url}/r/{race}")
        while len(attempts) < 25:
            await page.clock.fast_forward(15_000)
        await open_row(page, "Verification")
        await page.wait_for_selector("text=Trying again…")
        await page.unroute(f"{server.url}{path}")
        checked = page.locator("text=Checked by this server: genuine")
        while not await checked.is_visible():
            await page.clock.fast_forward(15_000)
            # A request needs real time: otherwise the next jump would be taken for its time limit.
            with suppress(PlaywrightTimeout):
                await checked.wait_for(timeout=3_000)

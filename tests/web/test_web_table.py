"""The table in a real browser: its layout, several fingers, and slow responses."""

import asyncio
from itertools import pairwise
from typing import Any

import pytest
from playwright.async_api import Browser, Page, WebSocketRoute

from samedeal.wire import messages as m
from support.browser import (
    FINISHED,
    IN_BROWSER,
    box_of,
    find_violations,
    join_race,
    open_drawer,
    open_page,
    places_of,
    prevent_long_presses,
    solo,
    start_after,
    start_race,
    tap,
    tap_moves,
    wait_for_deal,
    wait_for_ply,
    wait_until,
    window,
)
from support.servers import Server, racers
from support.vectors import WINS

pytestmark = [*IN_BROWSER, pytest.mark.tier(2)]


async def open_table(page: Page, server: Server, slug: str) -> list[str]:
    """Join a race for one on the deal of the recorded win and wait for the deal. Return the winning moves."""
    await start_race(page, server, solo(server, slug))
    moves: list[str] = WINS[slug]["moves"]
    return moves


async def test_buttons_are_at_the_bottom_of_phones(server: Server, page: Page) -> None:
    await open_table(page, server, "corners")
    for width, height in ((390, 844), (768, 1024)):
        await page.set_viewport_size({"width": width, "height": height})
        box = await box_of(page.locator(".keys"))
        assert height * 0.8 < box["y"] <= height - box["height"]


@pytest.mark.parametrize("rivals", [2, 3])
async def test_rivals_are_in_view_on_phones(rivals: int, server: Server, page: Page) -> None:
    race_id = server.create("the-edge", start_delay_ms=0)
    async with racers(server, *"bcd"[:rivals]) as others:
        for each in others:
            await each.join(race_id)
        await join_race(page, server, race_id)
        for each in others:
            await each.ask(m.Ready)
        await asyncio.gather(*(each.dealt() for each in others))
        await wait_for_deal(page)
        assert sorted(await page.locator(".strip i").all_inner_texts()) == sorted(["A", *"BCD"[:rivals]])
        boxes = [await box_of(mark) for mark in await page.locator(".strip i").all()]
        lefts = sorted(box["x"] for box in boxes)
        assert all(later - earlier > 20 for earlier, later in pairwise(lefts)), "no mark covers another one"
        table = await box_of(page.locator(".table"))
        assert all(box["y"] + box["height"] <= table["y"] for box in boxes)
        await page.click(".strip")
        await page.wait_for_selector(".standings li:has-text('ada')")


async def test_large_cards_have_larger_indices_where_they_cannot_grow(server: Server, page: Page) -> None:
    await open_table(page, server, "corner-stones")
    size = "parseFloat(getComputedStyle(document.querySelector('.card.open .index')).fontSize)"
    usual = await page.evaluate(size)
    await page.click(".preferences > button")
    await page.select_option("#preference-size", "large")
    assert await page.evaluate(size) > 1.3 * usual


@window(844, 390)
async def test_cards_in_landscape_are_wider_than_30_px(server: Server, page: Page) -> None:
    await open_table(page, server, "gallery")
    cards = await page.eval_on_selector_all(".card", "(all) => all.map((card) => card.offsetWidth)")
    assert min(cards) > 30


@window(reduced_motion="reduce")
async def test_each_finger_has_its_own_press(server: Server, page: Page) -> None:
    """Lifting the second finger does not play the card under the first."""
    moves = await open_table(page, server, "corner-stones")
    first, second = places_of(moves[0])
    points = [
        {"x": box["x"] + 12, "y": box["y"] + 12, "id": at}
        for at, place in enumerate((first, "u1" if first != "u1" else "u2"))
        if (box := await page.locator(f'[data-place="{place}"]').bounding_box())
    ]
    devices = await page.context.new_cdp_session(page)
    await prevent_long_presses(page)

    async def touch(kind: str, *touching: int) -> None:
        await devices.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [points[at] for at in touching]})

    await touch("touchStart", 0)
    await touch("touchStart", 0, 1)
    await touch("touchEnd", 1)
    await page.wait_for_selector("#status:text('cannot move now')")
    assert await page.locator(".picked").count() == 0, "the first finger is still down"
    await touch("touchEnd")
    assert await page.get_attribute(".picked", "data-place") == first
    await page.keyboard.press("Escape")
    await tap(page, first, second)
    await wait_for_ply(page, 1)


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
async def test_card_goes_to_its_target_before_the_response(motion: Any, server: Server, chromium: Browser) -> None:
    """It stays there until the response arrives, and returns if the move is refused."""
    async with open_page(chromium, reduced_motion=motion) as watched:
        page = watched.page
        released = asyncio.Event()
        answers: list[str] = []

        async def withhold(socket: WebSocketRoute) -> None:
            upstream = socket.connect_to_server()
            held: list[str | bytes] = []

            def send(message: str | bytes) -> None:
                text = str(message)
                if '"t":"move"' in text.replace(" ", "") and not answers:
                    answers.append(text)
                    held.append(message)
                else:
                    upstream.send(message)

            socket.on_message(send)
            await released.wait()
            for message in held:
                # The server refuses a move at another ply.
                upstream.send(str(message).replace('"ply":0', '"ply":7'))

        await page.route_web_socket("**/ws/*", lambda socket: asyncio.ensure_future(withhold(socket)) and None)
        moves = await open_table(page, server, "corner-stones")
        source, target = places_of(moves[0])
        home = await box_of(page.locator(f'[data-place="{source}"] .card').last)
        end = await box_of(page.locator(f'[data-place="{target}"]'))
        await tap(page, source, target)
        await page.wait_for_selector(".card.moving")
        await page.evaluate(FINISHED)
        ahead = await box_of(page.locator(".card.moving"))
        assert end["x"] - 2 <= ahead["x"] <= end["x"] + end["width"]
        assert abs(ahead["y"] - end["y"]) < 3
        assert await page.get_attribute(".table", "data-ply") == "0"
        released.set()
        await page.wait_for_selector(".note .refused")
        await page.evaluate(FINISHED)
        assert await page.locator(f'[data-place="{source}"] .card').last.bounding_box() == home
        await tap(page, source, target)
        await wait_for_ply(page, 1)
        assert await page.locator(".note .refused").count() == 0
        assert not watched.errors


@pytest.mark.tier(3)
async def test_win_is_celebrated_without_motion_by_a_picture_and_not_if_it_is_off(
    server: Server, chromium: Browser
) -> None:
    record = """() => {
        navigator.vibrate = () => (window.vibrated = (window.vibrated ?? 0) + 1);
        const start = OscillatorNode.prototype.start;
        OscillatorNode.prototype.start = function (...at) {
            window.tones = (window.tones ?? 0) + 1;
            start.apply(this, at);
        };
        new MutationObserver(() => {
            const picture = document.querySelector(".celebration");
            if (picture) window.celebrated = picture.matches(".still") ? "still" : "moving";
        }).observe(document, { childList: true, subtree: true });
    }"""
    for motion, turned_off, expected in (
        ("no-preference", (), ["moving", True, True]),
        ("no-preference", ("sound", "vibration"), ["moving", False, False]),
        ("no-preference", ("motion",), ["still", True, True]),
        ("no-preference", ("effects",), [None, False, False]),
        ("reduce", (), ["still", True, True]),
    ):
        async with open_page(chromium, reduced_motion=motion) as watched:
            page = watched.page
            await page.add_init_script(f"({record})()")
            moves = WINS["the-edge"]["moves"]
            await start_after(page, server, solo(server, "the-edge"), moves[:-1])
            await page.click(".preferences > button")
            for name in turned_off:
                await page.uncheck(f"#preference-{name}")
            await page.keyboard.press("Escape")
            await tap_moves(page, moves[-1:], first=len(moves) - 1)
            await page.wait_for_selector("h1:text('You solved it in')")
            if expected[0]:
                await wait_until(page, "Boolean(window.celebrated)")
            happened = await page.evaluate(
                "[window.celebrated ?? null, Boolean(window.tones), Boolean(window.vibrated)]"
            )
            assert happened == expected, (motion, turned_off)
            await page.wait_for_selector(".celebration", state="detached")
            assert not watched.errors


@window(1440, 900)
async def test_cards_and_buttons_follow_the_preferences(server: Server, page: Page) -> None:
    width = "document.querySelector('.card').offsetWidth"
    left = "document.querySelector('.keys').getBoundingClientRect().left"
    await open_table(page, server, "corners")
    normal, right = await page.evaluate(width), await page.evaluate(left)
    await page.click(".preferences > button")
    await page.select_option("#preference-size", "large")
    await page.select_option("#preference-hand", "left")
    assert await page.evaluate(width) > normal
    assert await page.evaluate(left) < right
    await page.reload()
    await page.wait_for_selector(".table[data-ply]")
    assert await page.evaluate(width) > normal
    assert await page.evaluate(left) < right


@window(1440, 900)
async def test_tap_that_closes_a_drawer_plays_nothing(server: Server, page: Page) -> None:
    await open_table(page, server, "golf")
    for target in ('[data-place="stock"]', "button:text-is('Draw')"):
        await open_drawer(page, "More")
        await page.wait_for_selector(".drawer:popover-open")
        box = await box_of(page.locator(target))
        await page.touchscreen.tap(box["x"] + 12, box["y"] + 12)
        await page.wait_for_selector(".drawer:popover-open", state="detached")
    await tap(page, "stock")
    await wait_for_ply(page, 1)
    assert await page.locator('[data-place="stock"] .count').inner_text() == "15"


@window(reduced_motion="reduce")
async def test_long_names_do_not_hide_who_is_who(server: Server, page: Page) -> None:
    """Names have their own direction, and are cut before "(you)". The podium shows times and gaps."""
    race_id, moves = solo(server, "corners", max_racers=2, spectators="open"), WINS["corners"]["moves"]
    async with racers(server, "שלום עולם ארוך מאוד") as (bo,):
        await bo.join(race_id)
        await bo.ask(m.Ready)
        await start_after(page, server, race_id, moves[:-3], name="W" * 24)
        await page.click(".strip")
        you, row = page.locator(".standings .you"), page.locator(".standings li.own")
        inner, outer = await box_of(you), await box_of(row)
        assert inner["x"] + inner["width"] <= outer["x"] + outer["width"]
        assert await page.locator(".standings bdi[dir=auto]").count() == 2
        await page.keyboard.press("Escape")
        await tap_moves(page, moves[-3:], len(moves) - 3)
        await page.wait_for_selector("text=Waiting for the others")
        await bo.dealt()
        await bo.ask(m.Resign)
        podium = await page.locator(".podium").inner_text()
        assert "(you)" in podium
        assert " s" in podium
        assert "48 cards behind" in podium
        assert not await find_violations(page)


async def test_focused_pile_has_a_frame_only_after_a_key(server: Server, page: Page) -> None:
    seen = """() => {
        const pile = document.activeElement;
        return [pile.className.includes("pile"), getComputedStyle(pile).outlineStyle];
    }"""
    await open_table(page, server, "corners")
    await page.reload()  # the name was entered by a key
    await wait_for_deal(page)
    assert await page.evaluate(seen) == [True, "none"]
    await page.keyboard.press("ArrowRight")
    assert await page.evaluate(seen) == [True, "solid"]
    await tap(page, "stock")
    assert await page.evaluate(seen) == [True, "none"]


async def test_focus_follows_the_page_to_the_name_and_after_joining(server: Server, page: Page) -> None:
    await page.goto(f"{server.url}/r/{server.create('corners')}")
    await page.wait_for_selector("#name:focus")
    await page.keyboard.type("ada")
    await page.keyboard.press("Enter")
    await page.wait_for_selector("#ready:focus")

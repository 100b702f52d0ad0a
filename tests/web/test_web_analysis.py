"""After a race: winning lines, turning points, and playing on alone with hints."""

import asyncio
import json
import re
from typing import Any, NamedTuple

import pytest
import pytest_asyncio
from playwright.async_api import Page

from samedeal.games.catalogue import GAMES
from samedeal.wire import messages as m
from samedeal_cli.render.text_table import with_cards
from support.browser import (
    IN_BROWSER,
    Tab,
    check_layout,
    find_violations,
    new_tab,
    open_drawer,
    open_row,
    places_of,
    solo,
    tap_moves,
    wait_for_ply,
)
from support.servers import Server, racers
from support.vectors import WINS
from support.waiting import until

pytestmark = [*IN_BROWSER, pytest.mark.tier(2)]
SLUG = "kings-in-the-corners"
SEED, WIN = WINS[SLUG]["seed"], WINS[SLUG]["moves"]
GOOD_MOVES = 8
"""After these moves of the win, always making the first legal move loses the game a few moves later."""


class Lost(NamedTuple):
    """A lost race for one, the moves of the second attempt, and the analysis."""

    race: str
    moves: list[str]
    analysis: Any


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def lost(quiet: Server) -> Lost:
    """Lose after a restart."""
    race_id = solo(quiet, SLUG)
    moves = list[str]()
    async with racers(quiet, "bo") as (bo,):
        await bo.begin(race_id)
        await bo.move((bo.board.moves or [])[0])
        await bo.move("restart")
        while bo.board.moves:
            moves.append(WIN[len(moves)] if len(moves) < GOOD_MOVES else bo.board.moves[0])
            await bo.move(moves[-1])
        await bo.ask(m.Resign)
    await quiet.replay(race_id)
    return Lost(race_id, moves, await computed(quiet, f"/api/v1/races/{race_id}/analysis"))


async def computed(quiet: Server, path: str, body: object = None) -> Any:
    """Wait for a result that takes time, and return it."""
    found = list[bytes]()

    async def is_ready() -> bool:
        status, content = await asyncio.to_thread(quiet.get, path, body)
        assert status in (200, 202), content
        found.append(content)
        return status == 200

    await until(is_ready, path)
    return json.loads(found[-1])


async def address(page: Page) -> str:
    """Return the address of a page; unlike `page.url`, at once after the page has changed it."""
    href: str = await page.evaluate("location.href")
    return href


async def shown_table(page: Page) -> list[str]:
    labels: list[str] = await page.eval_on_selector_all(
        ".field .pile", "(piles) => piles.map((pile) => `${pile.dataset.place} ${pile.ariaLabel}`)"
    )
    return labels


async def test_results_lead_to_the_solution_which_is_a_replay(lost: Lost, quiet: Server, page: Page) -> None:
    race_id, _, analysis = lost
    assert analysis["outcome"] == "won"
    await page.goto(f"{quiet.url}/w/{race_id}")
    await page.wait_for_selector(".rows b:text-is('Yes')")
    await open_row(page, "Could it be solved?")
    await page.wait_for_selector(f"text={analysis['text']}")
    await page.wait_for_selector(f"li:has-text('bo {analysis['racers'][0]['text']}')")
    assert not await find_violations(page)
    await page.click("a:text-is('Watch how')")
    await page.wait_for_url(f"{quiet.url}/solution/{race_id}")
    await page.wait_for_selector(".replay .checks .verdict:has-text('Verified ✓ Every move')")
    await page.press(".scrubber", "End")
    await page.wait_for_selector(f"text=/Solver, move {analysis['moves']} of {analysis['moves']}/")
    goal = GAMES[SLUG].goal
    assert f"{goal}/{goal} solved" in await page.inner_text(".boards figcaption")
    assert await page.locator("button:text-is('Race against this')").count() == 0
    await check_layout(page)


async def test_turning_point_is_marked_and_leads_to_practice(lost: Lost, quiet: Server, page: Page) -> None:
    race_id, moves, analysis = lost
    (turn,) = analysis["racers"]
    step = turn["step"]
    assert 2 < step < 2 + len(moves)
    await page.goto(f"{quiet.url}/replay/{race_id}")
    await page.wait_for_selector(f".boards figcaption:has-text('{turn['text']}')")
    assert await page.get_attribute(".marks .turn", "title") == f"bo {turn['text']}"
    for _ in range(2):  # the restart, and the turning point
        await page.keyboard.press("]")
    assert (await address(page)).endswith(f"#m{step}")
    assert f"bo {turn['text']}" in await page.inner_text(".player .note")
    await page.press(".scrubber", "Home")
    await page.click(f".list a:text-is('{turn['text']}')")
    await page.wait_for_selector(f".player .note:has-text('move {step} of')")
    assert not await find_violations(page)
    await page.click("button:text-is('Play on from here')")
    line = moves[: step - 2]  # not what was before the restart
    await page.wait_for_selector(f'.field .table[data-ply="{len(line)}"]')
    link = f"{quiet.url}/practice/{SLUG}:{SEED}#{','.join(line)}"
    assert await address(page) == link
    other = await new_tab(page.context)
    await other.page.goto(link)
    await other.page.wait_for_selector(f'.field .table[data-ply="{len(line)}"]')
    assert await shown_table(other.page) == await shown_table(page)
    assert other.errors == []


async def test_practice_has_undo_hints_and_verdicts(lost: Lost, quiet: Server, page: Page) -> None:
    _, moves, analysis = lost
    good = moves[: analysis["racers"][0]["step"] - 2]
    mistake = moves[len(good)]
    await page.goto(f"{quiet.url}/practice/{SLUG}:{SEED}#{','.join(good)}")
    await page.route("**/advice", lambda route: route.abort())
    await page.click("button:text-is('Hint')")
    await page.wait_for_selector(".practice:has-text('Trying again…')")
    await page.unroute("**/advice")
    await page.wait_for_selector(".wanted")
    hint = (await computed(quiet, f"/api/v1/deals/{SLUG}:{SEED}/advice", {"moves": good}))["hint"]
    wanted = "[...document.querySelectorAll('.wanted')].map((pile) => pile.dataset.place).sort()"
    assert await page.evaluate(wanted) == sorted(places_of(hint["move"]))
    text = (await page.inner_text(".practice")).replace("\ufe0e", "")
    named, _, reasons = text.partition(". ")
    assert re.fullmatch(r"Hint: \S+[♠♥♦♣].*|Hint: [A-Z][a-z]+", named), "the move by its cards, or its word"
    assert reasons == with_cards(f"{hint['rule']} {hint['reason']}")
    await tap_moves(page, [mistake], len(good))
    await wait_for_ply(page, len(good) + 1)
    assert await page.locator(".wanted").count() == 0
    assert (await address(page)).endswith(f",{mistake}")
    await page.click("button:text-is('Was that a mistake?')")
    verdict = "The last move was a mistake: you could still have won before it."
    await page.wait_for_selector(f".practice:has-text('{verdict}')")
    await check_layout(page)
    for ply in range(len(good), -1, -1):
        await page.keyboard.press("u")
        await page.wait_for_selector(f'.field .table[data-ply="{ply}"]')
    assert await page.is_disabled("button:text-is('Undo')")
    assert await address(page) == f"{quiet.url}/practice/{SLUG}:{SEED}"
    await page.click("button:text-is('Can it be solved?')")
    await page.wait_for_selector(".practice:text-is('The game can be won from here.')")
    await page.evaluate("(hash) => { location.hash = hash }", ",".join(good))
    await page.wait_for_selector(f'.field .table[data-ply="{len(good)}"]')
    await open_drawer(page, "More")
    await page.click("button:text-is('Restart…')")
    await page.click("dialog button[value=yes]")
    await page.wait_for_selector('.field .table[data-ply="0"]')


async def test_a_lost_game_is_restarted_without_a_question(quiet: Server, page: Page) -> None:
    position, moves = GAMES["the-edge"].from_seed("1"), list[str]()
    while not position.over:
        moves.append(position.moves()[0])
        position = position.after(moves[-1])
    assert not position.won
    await page.goto(f"{quiet.url}/practice/the-edge:1#{','.join(moves)}")
    await page.wait_for_selector(f'.field .table[data-ply="{len(moves)}"]')
    await page.click("button.first:text-is('Restart')")
    await page.wait_for_selector('.field .table[data-ply="0"]')
    assert not await page.is_visible("button:text-is('Draw')"), "no card is ever drawn by hand"


@pytest.mark.parametrize("slug", ["golf", "gallery"])
async def test_every_game_can_be_practised_from_its_rules(slug: str, quiet: Server, page: Page) -> None:
    await page.goto(f"{quiet.url}/rules/{slug}")
    await page.click("a:text-is('Practise with hints')")
    await page.wait_for_selector('.field .table[data-ply="0"]')
    seed = (await address(page)).rpartition(":")[2]
    move = GAMES[slug].from_seed(seed).moves()[0]
    await tap_moves(page, [move])
    await wait_for_ply(page, 1)
    assert (await address(page)).endswith(f"{slug}:{seed}#{move}")


async def test_options_of_the_game_stay_in_the_address(quiet: Server, page: Page) -> None:
    await page.goto(f"{quiet.url}/practice/corners:a%2Fb%3F?refill=waste")
    await page.wait_for_selector('.field .table[data-ply="0"]')
    await page.click("button:text-is('Draw')")
    await wait_for_ply(page, 1)
    assert await address(page) == f"{quiet.url}/practice/corners:a%2Fb%3F?refill=waste#draw"


async def test_nobody_practises_a_deal_that_others_race_on(quiet: Server, page: Page, tab: Tab) -> None:
    tab.refusals = {403}
    refusal = "A race on this deal is open or running."
    seed = "contested"
    await page.goto(f"{quiet.url}/practice/{SLUG}:{seed}")
    await page.wait_for_selector('.field .table[data-ply="0"]')
    quiet.create(SLUG, seed=seed)
    await tap_moves(page, [GAMES[SLUG].from_seed(seed).moves()[0]])
    await page.wait_for_selector(f".note:has-text('{refusal}')")
    await page.click("button:text-is('Hint')")
    await page.wait_for_selector(f".practice:has-text('{refusal}')")
    assert await page.get_attribute(".field .table", "data-ply") == "0"
    await page.goto(f"{quiet.url}/practice/{SLUG}:{seed}")
    await page.reload()
    await page.wait_for_selector(f"text={refusal}")
    assert await page.locator(".table").count() == 0

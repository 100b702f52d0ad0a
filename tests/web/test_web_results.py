"""What the page says about results: places, scores, podium and the status line, from states made up here."""

from typing import Any

import pytest
from playwright.async_api import Page

from support.browser import IN_BROWSER, window
from support.servers import Server

pytestmark = [*IN_BROWSER, pytest.mark.tier(2)]

GALLERY = {"slug": "gallery", "counted": "left", "goal": 96}
EDGE = {"slug": "the-edge", "counted": "home", "goal": 52}


def racer(seat: int, place: int, home: int, outcome: str = "resigned", **fields: Any) -> dict[str, Any]:
    goal = fields.pop("goal", 52)
    about = {"name": f"N{seat}", "bot": False, "done": True, "attempts": 1, "ms": 1000 * seat, "progress": 0.5}
    return {"seat": seat, "place": place, "home": home, "goal": goal, "outcome": outcome, **about, **fields}


@window(390, 844)
async def test_a_better_place_stands_higher_whatever_is_written_below(server: Server, page: Page) -> None:
    await page.goto(server.url)
    standings = [racer(1, 1, 36, "won"), racer(2, 2, 30, name="W" * 24, bot=True, level="expert"), racer(3, 3, 2)]
    steps = await page.evaluate(
        """async ([game, standings]) => {
            const { podium } = await import("/page/standings.js");
            document.querySelector("main").replaceChildren(podium(game, standings, 2));
            return [...document.querySelectorAll(".podium .step")].map((step) => {
                const { top, bottom, left } = step.getBoundingClientRect();
                return { top, bottom, left, below: step.nextSibling.getBoundingClientRect().top };
            });
        }""",
        [EDGE, standings],
    )
    first, second, third = steps
    assert first["top"] < second["top"] < third["top"]
    assert len({step["bottom"] for step in steps}) == 1
    assert second["left"] < first["left"] < third["left"]
    assert all(step["below"] >= step["bottom"] for step in steps)
    text = await page.inner_text(".podium")
    assert "1.0 s" in text
    assert "30 of 52" in text
    assert "22 cards behind" in text


async def test_times_explain_the_places_of_equals(server: Server, page: Page) -> None:
    await page.goto(server.url)
    texts = await page.evaluate(
        """async ([game, standings]) => {
            const { podium, StandingsList } = await import("/page/standings.js");
            const { resultRow } = await import("/page/field.js");
            const texts = (list, kind) => [...list.querySelectorAll(kind)].map((each) => each.textContent);
            return [
                texts(podium(game, standings, 2), ".gap"),
                texts(new StandingsList(game).show(standings), ".state"),
                resultRow(game, standings[1], {}).cells[2].textContent,
            ];
        }""",
        [GALLERY, [racer(1, 1, 24, goal=96), racer(2, 2, 24, goal=96), racer(3, 3, 20, goal=96)]],
    )
    assert texts == [
        ["after 1.0\xa0s", "after 2.0\xa0s", "4 cards behind"],
        ["resigned, last card after 1.0\xa0s", "resigned, last card after 2.0\xa0s", "resigned"],
        "score 722.0 s",
    ]


async def test_gallery_is_shown_by_its_score_and_a_solved_deal_as_complete(server: Server, page: Page) -> None:
    await page.goto(server.url)
    shown = await page.evaluate(
        """async (lists) => {
            const { StandingsList } = await import("/page/standings.js");
            return lists.map(([game, standing]) => {
                const { children } = new StandingsList(game).show([standing]);
                const bar = children[0].querySelector("progress");
                return [children[0].querySelector(".count").textContent, bar.position, bar.getAttribute("aria-label")];
            });
        }""",
        [[GALLERY, racer(1, 1, 24, goal=96)], [EDGE, racer(1, 1, 36, "won")]],
    )
    assert shown == [["score 72", 0.25, "N1: score 72"], ["52/52", 1, "N1: 52 of 52"]]


async def test_players_with_the_same_name_have_the_same_numbers_in_standings_and_evening(
    server: Server, page: Page
) -> None:
    await page.goto(server.url)
    table = [
        {"place": place, "player": f"p{seat}", "seat": seat, "name": name, "points": 2 - place, "races": 2, "wins": 0}
        for place, (seat, name) in enumerate([(5, "ada"), (2, "bo"), (1, "ada")], start=1)
    ]
    text = await page.evaluate(
        """async (table) => {
            const { showEvening } = await import("/page/evening.js");
            const element = document.createElement("section");
            showEvening(element, { races: ["a", "b"], table, best_of: {} }, { compact: true });
            return element.textContent;
        }""",
        table,
    )
    assert text == "1. ada #5 1 · 2. bo 0 · 3. ada #1 -1"


async def test_the_status_line_says_the_place_of_now_and_nothing_old(server: Server, page: Page) -> None:
    await page.clock.install()
    await page.goto(server.url)
    await page.evaluate(
        """async () => {
            const { RacePage } = await import("/page/race.js");
            const standings = [1, 2, 3, 4, 5];
            const race = new RacePage();
            race.connection = { standings, view: { stage: "running" }, mine: { place: 1 } };
            window.at = (place) => {
                race.connection.mine = { place };
                race.announcePlace();
                return document.getElementById("status").textContent;
            };
        }"""
    )
    assert await page.evaluate("at(1)") == "", "the first place is no news"
    assert await page.evaluate("at(2)") == "You are 2nd of 5"
    assert await page.evaluate("at(4)") == "You are 2nd of 5", "at most every five seconds"
    await page.clock.fast_forward(5_000)
    assert await page.evaluate("at(4)") == "You are 4th of 5"
    await page.clock.fast_forward(10_000)
    assert await page.evaluate("at(4)") == ""

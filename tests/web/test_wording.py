"""The page, the CLI and the library use the same wording: all match tests/wording.json."""

from typing import Any

import pytest

from samedeal.games.catalogue import GAMES
from samedeal.names import seat_marks
from samedeal.wire.messages import Board
from samedeal_cli.render import phrases
from support.node import needs_node, run
from support.wording import WORDING, library_wording

SCRIPT = """
import { readFileSync } from "node:fs";
const page = await import(process.argv[1]);
const { wording, counted } = JSON.parse(readFileSync(0, "utf-8"));
const { names, times, cards, piles, changes, counts, durations, outcomes, results } = wording;
const racers = (byName) => Object.entries(byName).map(([seat, name]) => ({ seat: Number(seat), name }));
const game = (slug) => ({ counted: counted[slug] });
console.log(JSON.stringify({
  names: names.map(([given]) => [given, Object.fromEntries(page.displayNames(racers(given)))]),
  times: times.map(([ms]) => [ms, page.formatClock(ms)]),
  cards: cards.map(([card]) => [card, page.cardName(card)]),
  piles: piles.map(([place, pile]) => [place, pile, page.pileSentence(place, pile)]),
  changes: changes.map(([before, after]) => [before, after, page.changeSentence(before, after)]),
  counts: counts.map(([number, noun]) => [number, noun, page.counted(number, noun)]),
  durations: durations.map(([ms]) => [ms, page.duration(ms)]),
  outcomes: outcomes.map(([outcome]) => [outcome, page.outcomeText(outcome)]),
  results: results.map(([slug, racer]) => [
    slug, racer, page.achieved(game(slug), racer), page.achieved(game(slug), racer, { short: true }),
  ]),
}));
"""


def board(table: dict[str, list[str]]) -> Board:
    piles = {place: tuple(pile) for place, pile in table.items()}
    return Board(table=piles, outcome="playing", home=0, attempt=1, ply=0)


def python_wording() -> dict[str, Any]:
    def names(given: dict[str, str]) -> dict[str, str]:
        marks = seat_marks({int(seat): name for seat, name in given.items()})
        return {seat: name + marks[int(seat)] for seat, name in given.items()}

    return library_wording() | {
        "names": [[given, names(given)] for given, _ in WORDING["names"]],
        "cards": [[card, phrases.card_name(card)] for card, _ in WORDING["cards"]],
        "piles": [[place, pile, phrases.pile_sentence(place, pile)] for place, pile, _ in WORDING["piles"]],
        "changes": [
            [before, after, phrases.change_sentence(board(before), board(after))]
            for before, after, _ in WORDING["changes"]
        ],
        "counts": [[number, noun, phrases.counted(number, noun)] for number, noun, _ in WORDING["counts"]],
    }


@pytest.mark.parametrize("kind", WORDING)
def test_python_wording(kind: str) -> None:
    assert python_wording()[kind] == WORDING[kind]


@needs_node
def test_page_wording() -> None:
    counted = {slug: game.counted for slug, game in GAMES.items()}
    assert run(SCRIPT, "phrases.js", {"wording": WORDING, "counted": counted}) == WORDING

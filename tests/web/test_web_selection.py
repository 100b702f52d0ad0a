"""The page and the CLI read the same places from every legal move, and both select as tests/selections.json says."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from samedeal.game import Game
from samedeal.games.catalogue import GAMES
from samedeal_cli.state.selection import Selection
from support.aces_up import AcesUp
from support.node import needs_node, run
from support.positions import places
from support.random_games import walk

SCRIPT = """
import { readFileSync } from "node:fs";
const { parseMove } = await import(process.argv[1]);
const { moves, places, hidden } = JSON.parse(readFileSync(0, "utf-8"));
console.log(JSON.stringify(moves.map((move) => parseMove(move, places, hidden))));
"""


@needs_node
@pytest.mark.parametrize("game", [*GAMES.values(), AcesUp], ids=lambda game: game.slug)
def test_page_and_cli_read_the_same_places(game: type[Game]) -> None:
    moves = {
        move for seed in "123" for _, position in walk(game.from_seed(seed), Random(seed)) for move in position.moves()
    }
    selection = Selection(layout=game.layout)
    known: dict[str, Any] = {"moves": sorted(moves), "places": places(game), "hidden": [game.stock] * bool(game.stock)}
    parsed = run(SCRIPT, "selection.js", known)
    assert [choice["move"] for choice in parsed] == sorted(moves)
    for choice in parsed:
        expected = selection.parse(choice["move"])
        kind = "remove" if expected.is_group else "carry" if expected.is_transfer else "tap"
        assert choice["kind"] == kind
        assert choice.get("isWord", False) == (not expected.places)
        works_stock = bool(game.stock) and choice["move"] != "home"
        assert choice["places"] == (list(expected.places) or [game.stock] * works_stock)
        assert choice.get("number", 1) == int(choice["move"].partition(":")[2] or 1)


VECTORS: list[dict[str, Any]] = json.loads((Path(__file__).parents[1] / "selections.json").read_text(encoding="utf-8"))
"""Picks among legal moves, with the places that can be picked next, except the stock, and the move to play."""
PICK = """
import { readFileSync } from "node:fs";
const { Selection, parseMove } = await import(process.argv[1]);
const outcome = ({ moves, places, hidden, foundations, picks }) => {
  let selection = new Selection(moves.map((move) => parseMove(move, places, hidden)), foundations);
  let move = null;
  for (const place of picks) ({ selection, move } = selection.tap(place));
  return { targets: [...selection.targets].filter((place) => !hidden.includes(place)).sort(), move };
};
console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf-8")).map(outcome)));
"""


def expected(vector: dict[str, Any]) -> dict[str, Any]:
    return {"targets": vector["targets"], "move": vector["move"]}


def test_cli_selects_as_the_vectors_say() -> None:
    for vector in VECTORS:
        game = GAMES[vector["game"]]
        selection = Selection(tuple(vector["moves"]), game.layout, game.foundations, game.stock, auto_drop=False)
        move = None
        for place in vector["picks"]:
            selection, move = selection.pick(place)
        assert {"targets": sorted(selection.choices), "move": move} == expected(vector), vector


@needs_node
def test_page_selects_as_the_vectors_say() -> None:
    given = [
        vector
        | {"places": places(game), "hidden": [game.stock] * bool(game.stock), "foundations": sorted(game.foundations)}
        for vector in VECTORS
        for game in [GAMES[vector["game"]]]
    ]
    for vector, outcome in zip(VECTORS, run(PICK, "selection.js", given), strict=True):
        assert outcome == expected(vector), vector

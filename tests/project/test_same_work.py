"""The race that the peers run in the bench has the same deal, rules and views as a race here."""

import json
import shutil
import subprocess
from itertools import islice

import pytest

from bench.peers import FOLDER
from bench.recorded import SEEDS, book
from bench.same_work import GAME
from samedeal.games.catalogue import GAMES
from samedeal.race.events import Options
from samedeal.race.run import RESTART, UNDO, Run

NODE = shutil.which("node")
pytestmark = [pytest.mark.skipif(NODE is None, reason="Node.js is not installed"), pytest.mark.tier(2)]

PLAY = """
import { readFileSync } from "node:fs";
import { Rules } from "./race.mjs";
const { opening, moves, refused } = JSON.parse(readFileSync(0, "utf8"));
const rules = new Rules(opening);
let racer = rules.dealt();
const views = [rules.view([racer], 1, 0)];
const accepted = [];
for (const move of moves) {
  accepted.push(refused.filter((move) => rules.after(racer, move, 0) !== null));
  racer = rules.after(racer, move, views.length);
  views.push(rules.view([racer], 1, views.length));
}
console.log(JSON.stringify({ views, accepted }));
"""
MOVES = 200
IMPOSSIBLE = ["draw", UNDO, RESTART, "a1", "e9", "a1+a2"]
"""Moves of which some are illegal in every position."""


def run_of_moves() -> list[Run]:
    """Return a racer's recorded moves, after which some are undone."""
    start = GAMES[GAME].from_seed(SEEDS[GAME])
    runs = [Run(options=Options(limit_ms=3_600_000), deal=start, game=start)]
    for move in islice(book(GAME).lines[0], MOVES):
        runs.append(runs[-1].after(move, len(runs)))
        if runs[-1].may(UNDO):
            runs.append(runs[-1].after(UNDO, len(runs)))
            runs.append(runs[-1].after(move, len(runs)))
    return runs


def allows(run: Run, move: str) -> bool:
    """Return whether a racer can make a move."""
    return run.may(move) if move in (UNDO, RESTART) else move in run.game.moves()


def test_peers_race_has_the_same_views_and_refuses_the_same_moves() -> None:
    runs = run_of_moves()
    request = {"opening": book(GAME).opening, "moves": [*runs[-1].moves], "refused": IMPOSSIBLE}
    assert NODE
    done = subprocess.run(
        [NODE, "--input-type=module", "--eval", PLAY],
        cwd=FOLDER,
        input=json.dumps(request),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    played = json.loads(done.stdout)
    assert {UNDO, RESTART} <= set(runs[-1].moves)
    for run, view in zip(runs, played["views"], strict=True):
        assert view["board"] == {
            "table": {place: [*pile] for place, pile in run.game.view().items()},
            "notes": dict(run.game.notes),
            "outcome": run.outcome,
            "home": run.game.home,
            "attempt": run.attempts,
            "ply": len(run.moves),
            "moves": [*run.game.moves()],
            "undo": run.may(UNDO),
            "restart": run.may(RESTART),
        }
        (standing,) = view["standings"]
        assert (standing["home"], standing["ms"]) == (run.peak, run.peak_ms)
        assert standing["progress"] == run.progress
    expected = [[move for move in IMPOSSIBLE if allows(run, move)] for run in runs[:-1]]
    assert played["accepted"] == expected

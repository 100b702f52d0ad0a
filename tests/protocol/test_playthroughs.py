"""Playthroughs: games written out step by step, so that a change of the rules shows as a readable diff.

Each file in ``playthroughs`` contains the deal and, for the first and the last steps, the table, the notes, the legal
moves and the chosen move. The table shows the top card of each place and, if there are several, their number. A digest
stands for the steps between them.

``make generate`` updates the files after an intended change.
"""

import hashlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from samedeal.game import Game
from samedeal.games.catalogue import GAMES
from support.vectors import WINS

HERE = Path(__file__).parents[1]
HINT = "after an intended change, run `make generate` and review the diff"
FIRST, LAST = 2, 1
"""The numbers of steps to write at the start and at the end."""
LOST = ["b2", "c2", "b3", "c3", "a4", "d2", "d3", "a2", "d1", "c1", "a3", "d4", "b1", "c4", "a1"]
FILES = {
    f"{slug}-{seed}.txt": (slug, seed, moves)
    for slug, seed, moves in [
        *((slug, WINS[slug]["seed"], WINS[slug]["moves"]) for slug in GAMES if slug in WINS),
        ("the-edge", "1", LOST),
    ]
}
"""The deal and the moves of each playthrough."""


def written(slug: str, seed: str, moves: Sequence[str]) -> str:
    """Return the text of a playthrough."""
    position = GAMES[slug].from_seed(seed)
    head = f"game: {slug}\nseed: {seed}\nrules: {position.rules}\n"
    steps = [step(0, position, moves[0])]
    for number, move in enumerate(moves, 1):
        position = position.after(move)
        steps.append(step(number, position, moves[number] if number < len(moves) else ""))
    between = steps[FIRST:-LAST]
    digest = hashlib.sha256("\n".join(between).encode()).hexdigest()
    skipped = f"# {FIRST} to {len(steps) - LAST - 1}\nsha256: {digest}\n"
    return "\n".join([head, *steps[:FIRST], *([skipped] if between else []), *steps[-LAST:]])


def step(number: int, position: Game, move: str) -> str:
    """Return the text of a position, with the move made from it."""
    lines = [f"# {number}", *drawn(position)]
    lines += [f"{name}: {note}" for name, note in position.notes.items()]
    lines += [f"home: {position.home} of {position.goal}", f"outcome: {position.outcome}"]
    lines += [f"moves: {' '.join(position.moves()) or '-'}", *([f"move: {move}"] if move else [])]
    return "\n".join(lines) + "\n"


def drawn(position: Game) -> Iterator[str]:
    """Yield the lines of the layout, with top cards instead of place names."""
    view = position.view()
    for line in position.layout.strip().splitlines():
        shown = [_top(view[place]) if place != "." else "" for place in line.split()]
        yield " ".join(top.ljust(5) for top in shown).rstrip()


def _top(pile: Sequence[str]) -> str:
    if not pile:
        return "."
    return pile[-1] if len(pile) == 1 else f"{pile[-1]}/{len(pile)}"


@pytest.mark.parametrize("file", FILES)
def test_playthroughs_match_their_files(file: str) -> None:
    path = HERE / "playthroughs" / file
    assert path.exists(), HINT
    assert written(*FILES[file]) == path.read_text(), HINT


def test_every_game_has_a_playthrough_and_there_are_no_other_files() -> None:
    assert {slug for slug, _, _ in FILES.values()} == set(GAMES), "tests/vectors.json needs a win of every game"
    assert {file.name for file in (HERE / "playthroughs").iterdir()} == set(FILES), HINT


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit(__doc__)
    for name, playthrough in FILES.items():
        (HERE / "playthroughs" / name).write_text(written(*playthrough))

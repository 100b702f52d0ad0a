"""Playthroughs: games written out step by step, so that a change of the rules shows as a readable diff.

Each file in ``playthroughs`` contains the deal and, for each step, the table, the notes, the legal moves and the chosen
move. The table shows the top card of each place and, if there are several, their number.

To update the files after an intended change: ``python tests/protocol/test_playthroughs.py --write``.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

from samedeal.game import Game
from samedeal.games.catalogue import GAMES

HERE = Path(__file__).parents[1]
WINS = msgspec.json.decode((HERE / "vectors.json").read_bytes())["wins"]
FILES = {
    f"{slug}-{seed}.txt": (slug, seed, moves)
    for slug, seed, moves in [
        ("corner-stones", WINS["corner-stones"]["seed"], WINS["corner-stones"]["moves"][:40]),
        ("the-edge", WINS["the-edge"]["seed"], WINS["the-edge"]["moves"]),
        ("the-edge", "1", ["b2", "c2", "b3", "c3", "a4", "d2", "d3", "a2", "d1", "c1", "a3", "d4", "b1", "c4", "a1"]),
        ("corners", WINS["corners"]["seed"], WINS["corners"]["moves"][:60]),
        ("kings-in-the-corners", WINS["kings-in-the-corners"]["seed"], WINS["kings-in-the-corners"]["moves"]),
        ("gallery", WINS["gallery"]["seed"], WINS["gallery"]["moves"]),
    ]
}
"""The deal and the moves of each playthrough."""


def written(slug: str, seed: str, moves: Sequence[str]) -> str:
    """Return the text of a playthrough."""
    position = GAMES[slug].from_seed(seed)
    lines = [f"game: {slug}", f"seed: {seed}", f"rules: {position.rules}"]
    for step, move in enumerate([*moves, None]):
        lines += ["", f"# {step}", *drawn(position)]
        lines += [f"{name}: {note}" for name, note in position.notes.items()]
        lines += [f"home: {position.home} of {position.goal}", f"outcome: {position.outcome}"]
        lines += [f"moves: {' '.join(position.moves()) or '-'}"]
        if move is not None:
            lines += [f"move: {move}"]
            position = position.after(move)
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
    assert written(*FILES[file]) == (HERE / "playthroughs" / file).read_text()


def test_every_game_has_a_playthrough_and_there_are_no_other_files() -> None:
    assert {slug for slug, _, _ in FILES.values()} == set(GAMES)
    assert {file.name for file in (HERE / "playthroughs").iterdir()} == set(FILES)


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit(__doc__)
    for name, playthrough in FILES.items():
        (HERE / "playthroughs" / name).write_text(written(*playthrough))

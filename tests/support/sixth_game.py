"""A sixth game, Aces Up, added to a copy of the library: one module and its entry in the catalogue."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import samedeal
from samedeal.games.catalogue import GAMES
from support.aces_up import AcesUp

SEED = "35"
_MOVES = """
    p3 turn p3 p1 p2p3 p2 p4p2 p3 turn p1 p4 p3 p2p3 turn p2 p4 turn p2 p3 turn p1 p4 p2 turn
    p3 p3 p4 p4 p4 p1p4 turn p4 p3 p1 p2 turn p2 p1 p4 p3 turn p1 p3 p2 p4 turn p1 p1
    p1 p1 p3p1 p4 p4 p2p4 turn p4 p1 p2 p3 turn p3 p3 p2 p3 p2p3 p1 p1
"""
WIN = _MOVES.split()
"""The moves that win the deal of the seed."""


@contextmanager
def sixth_game(folder: Path, *, bot: bool = False) -> Iterator[None]:
    """Add the game to the library of this process and of those that it starts.

    `bot` adds the game's bot to the library of those that it starts.
    """
    package = shutil.copytree(
        Path(samedeal.__file__).parent, folder / "samedeal", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copy(Path(__file__).with_name("aces_up.py"), package / "games")
    catalogue = package / "games" / "catalogue.py"
    insert(catalogue, "from samedeal.games.aces_up import AcesUp\n", before="from samedeal.games.corner_stones")
    insert(catalogue, ", AcesUp", before=")\n}")
    if bot:
        entry = '    "aces-up": Bot("aces-up-bot/1", lambda position, last, words: position.moves(), par_plays=7),\n'
        insert(package / "computer" / "bots.py", entry, before='    "gallery": GALLERY_BOT_2')
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
        patch.setitem(GAMES, AcesUp.slug, AcesUp)
        yield


def insert(file: Path, text: str, before: str) -> None:
    """Insert a text before another one, which must occur once."""
    content = file.read_text(encoding="utf-8")
    assert content.count(before) == 1, f"{file.name} contains {content.count(before)} times: {before}"
    file.write_text(content.replace(before, text + before), encoding="utf-8")

"""What alterations of the content of replays have in common. See ``altered_replays``."""

from collections.abc import Callable
from random import Random
from typing import Any, Final

from support.replay_writing import Content

Change = Callable[[Content, Random], None]
"""Changes a content in place, or raises NotPossible."""
CHANGES: Final[dict[str, Change]] = {}
"""All kinds, by name."""
UNTIMED: Final[set[str]] = set()
"""The kinds that are about numbers or times, which must not be repaired."""
WORDS: Final = ("undo", "restart", "draw", "redeal", "deal", "w", "r1", "r5", "t1", "t8", "a1", "d4", "c2-", "a1+b1")
STACKS: Final = ("c1", "c4", "l1", "l2", "l4", "r1", "r3", "u1", "d2")
CELLS: Final = tuple(column + row for column in "abcdtlr" for row in "123458")


class NotPossible(Exception):
    """Raised by a change that a replay does not allow."""


def kind(change: Change) -> Change:
    """Register a change under its name."""
    CHANGES[change.__name__.replace("_", " ")] = change
    return change


def untimed(change: Change) -> Change:
    """Register a change of numbers or times."""
    UNTIMED.add(change.__name__.replace("_", " "))
    return kind(change)


def indices(content: Content, *types: str) -> list[int]:
    """Return the indices of the entries with these types of events."""
    return [index for index, entry in enumerate(content["entries"]) if entry[2]["t"] in types]


def one(content: Content, random: Random, *types: str) -> int:
    """Return one of these indices. Raises NotPossible if there is none."""
    if found := indices(content, *types):
        return random.choice(found)
    raise NotPossible


def first(content: Content, *types: str) -> int:
    """Return the first of these indices. Raises NotPossible if there is none."""
    if found := indices(content, *types):
        return found[0]
    raise NotPossible


def insert(content: Content, index: int, event: dict[str, Any], wait: int = 0) -> None:
    """Insert an entry with the number of its position, some time after the one before."""
    at = content["entries"][index - 1][1] if index else content["header"]["opened_at"]
    content["entries"].insert(index, [index + 1, at + wait, event, "0" * 64])


def any_seat(random: Random) -> int:
    return random.choice((1, 1, 2, 2, 3, 4, 5, 9))


def any_move(random: Random) -> str:
    """Return a move of any game."""
    stacks = random.choice(STACKS) + random.choice(STACKS)
    return random.choice((random.choice(WORDS), random.choice(CELLS), stacks))

"""Registers the kinds of alterations of replays, and what they have in common. See ``altered_replays``."""

from collections.abc import Callable
from random import Random
from typing import Any, Final

from support.replay_writing import Content

Change = Callable[[Content, Random], str | None]
"""Changes a content in place, or raises NotPossible. Returns what is expected; see ``Altered``."""
EntryChange = Callable[[Content, int, Random], None]
"""Changes a log from the entry with an index on."""
TextChange = Callable[[bytes, Random, str], tuple[bytes, str]]
"""Returns another text for one in a form, or the same if that is not possible, and what is expected."""
CHANGES: Final[dict[str, Change]] = {}
"""The kinds that change the content, by name."""
EACH_VALUE: Final[list[tuple[str, Change]]] = []
"""Changes of fields to all of their values, with the names of the kinds."""
AT_ENTRY: Final[dict[str, EntryChange]] = {}
"""Those of them that can do so at every entry."""
TEXT_CHANGES: Final[dict[str, TextChange]] = {}
"""The kinds that change the text."""
UNTIMED: Final[set[str]] = set()
"""The kinds that are about numbers or times, which must not be repaired."""
AS_IS: Final[set[str]] = set()
"""The kinds that are not repaired at all, because that would undo them."""
UNREADABLE, SAME, REFUSED, ANY = "unreadable", "the same", "refused or unreadable", "the same, refused or unreadable"
WORDS: Final = ("undo", "restart", "draw", "redeal", "deal", "w", "r1", "r5", "t1", "t8", "a1", "d4", "c2-", "a1+b1")
STACKS: Final = ("c1", "c4", "l1", "l2", "l4", "r1", "r3", "u1", "d2")
CELLS: Final = tuple(column + row for column in "abcdtlr" for row in "123458")
MOVES: Final = (*WORDS * 5, *CELLS, *(one + other for one in STACKS for other in STACKS))
"""Moves of all games; some are not possible in any."""


class NotPossible(Exception):
    """Raised by a change that a replay does not allow."""


def kind(change: Change, name: str | None = None) -> Change:
    """Register a change under its name."""
    CHANGES[name or _name(change)] = change
    return change


def untimed(change: Change) -> Change:
    """Register a change of numbers or times."""
    UNTIMED.add(_name(change))
    return kind(change)


def as_is(change: Change) -> Change:
    """Register a change that cannot be repaired."""
    AS_IS.add(_name(change))
    return kind(change)


def at_entry(change: EntryChange) -> EntryChange:
    """Register a change of the log at one of its entries."""

    def anywhere(content: Content, random: Random) -> None:
        change(content, random.randrange(len(content["entries"])), random)

    AT_ENTRY[_name(change)] = change
    kind(anywhere, _name(change))
    return change


def _name(change: Any) -> str:
    name: str = change.__name__
    return name.replace("_", " ")


def any_seat(random: Random) -> int:
    return random.choice((1, 1, 2, 2, 3, 4, 5, 9))

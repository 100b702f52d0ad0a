"""Cards and piles as text, and the rows and columns of tables."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, Literal

from samedeal.cards import BACK
from samedeal.wire.messages import Board

SUITS: Final = {"S": "♠", "H": "♥", "C": "♣", "D": "♦"}
GAP: Final = "  "
FACE_DOWN: Final = "▒▒▒"
"""The text of a face-down card."""

Suit = Literal["spade", "heart", "diamond", "club"]
_INKS: Final[Mapping[str, Suit]] = {"♠": "spade", "♥": "heart", "♦": "diamond", "♣": "club"}
_CARD = re.compile(r"(?<![A-Za-z0-9])(10|[2-9AJQK])([♠♥♦♣SHCD])(?![A-Za-z0-9])")
WIRE_CARD = re.compile(r"\b[A2-9TJQK][SHCD]\b")

Row = tuple[str, ...]
"""The places of one row of a layout; ``.`` is a gap."""
Rows = tuple[Row, ...]
Widths = tuple[tuple[str, int], ...]
"""The widths of places."""


def card_text(card: str, *, ascii: bool = False) -> str:  # noqa: A002
    """Return the text of a card: ``10♥``, or ``10H``."""
    if card == BACK:
        return FACE_DOWN
    rank, suit = card[0], card[1]
    return ("10" if rank == "T" else rank) + (suit if ascii else SUITS[suit])


def with_cards(text: str, card: Callable[[str], str] = card_text) -> str:
    """Replace the cards in a text of the server by their display texts."""
    return WIRE_CARD.sub(lambda match: card(match[0]), text)


def advice(board: Board, card: Callable[[str], str] = card_text) -> str:
    """Return what the racer can do, or why the attempt ended; empty without the server's guidance."""
    guidance = board.guidance
    return with_cards(guidance.instruction or guidance.ending, card) if guidance else ""


def facts(board: Board) -> Sequence[str]:
    """Return what the racer knows besides the piles, in words; without the server's guidance, the notes."""
    texts = board.guidance.facts if board.guidance else [f"{name} {value}" for name, value in board.notes.items()]
    return tuple(map(with_cards, texts))


def find_cards(text: str) -> Iterator[tuple[int, int, Suit]]:
    """Yield the cards of a drawn line: start, end and suit."""
    for card in _CARD.finditer(text):
        yield card.start(), card.end(), _INKS[SUITS.get(card[2], card[2])]


# Rows and columns.


def flows(row: Row) -> bool:
    """Return whether a row has named places, such as stock and waste, which are not aligned to columns."""
    return any(len(place) > 2 for place in row)


def hangs(row: Row, fanned: Collection[str]) -> bool:
    """Return whether the piles of a row hang down."""
    return all(place in fanned for place in row)


@lru_cache(256)  # the same table is drawn after every move
def spread(rows: Rows, least: Widths, growing: Row, most: int, width: int) -> Sequence[int]:
    """Return where each column starts, and the end of the last, so that each place gets the room that it needs.

    The rest of the width goes, cell by cell in turn, to the places in `growing`, at most `most` cells to each.
    """
    needs, count = dict(least), max(map(len, rows))
    starts = _starts(rows, needs, count)
    for place in growing * most:
        wider = {**needs, place: needs[place] + 1}
        if (tried := _starts(rows, wider, count))[-1] <= width:
            needs, starts = wider, tried
    return starts


def _starts(rows: Rows, needs: Mapping[str, int], count: int) -> list[int]:
    """Return the leftmost starts that give each place the room that it needs."""
    starts = [len(GAP) * column for column in range(count + 1)]
    for column in range(count):
        starts[column + 1] = max(starts[column + 1], starts[column] + len(GAP))
        for row in rows:
            if row[column] != ".":
                after = next_column(row, column)
                starts[after] = max(starts[after], starts[column] + needs[row[column]])
    return starts


def next_column(row: Row, column: int) -> int:
    """Return the column that limits a place to the right."""
    return next((later for later in range(column + 1, len(row)) if row[later] != "."), len(row))


def wrapped_pile(pile: Sequence[str], width: int, most: int) -> list[str]:
    """Wrap a pile into lines; a number such as ``+3`` replaces the lower cards for which `most` lines are too few."""
    for hidden in range(max(1, len(pile))):
        lines: list[str] = []
        for word in _with_count(pile, hidden):
            if lines and len(lines[-1]) + 1 + len(word) <= width:
                lines[-1] += f" {word}"
            else:
                lines.append(word)
        if len(lines) <= most:
            break
    return lines


def top_cards(pile: Sequence[str], room: int) -> list[str]:
    """Return the top cards that fit, after the number of those that do not."""
    pile = _folded(pile, room)
    return _with_count(pile, len(pile) - room + 1 if len(pile) > room else 0)


def column(pile: Sequence[str], room: int) -> list[str]:
    """Return the cards of a column in at most ``room`` lines: lower ones in pairs, after the number of those left out.

    The first line has one card, because the key of the column is beside it, and so has the last one.
    """
    shown = top_cards(_folded(pile, room), max(room, 2 * room - 2))
    pairs = max(0, len(shown) - room)
    paired = ["".join(shown[at : at + 2]) for at in range(1, 2 * pairs, 2)]
    return [*shown[:1], *paired, *shown[1 + 2 * pairs :]]


def _folded(pile: Sequence[str], room: int) -> Sequence[str]:
    """Return a pile that fits or, if it does not, with the number of its face-down cards in their place."""
    down = pile.count(FACE_DOWN)
    return [f"{FACE_DOWN[1:]}{down}", *pile[down:]] if down > 1 and len(pile) > room else pile


def _with_count(pile: Sequence[str], hidden: int) -> list[str]:
    return [*([f"+{hidden}"] if hidden else []), *pile[hidden:]]


def named_pile(place: str, pile: Sequence[str], *, is_fan: bool = False) -> str:
    """Return a named place with its top card, or three of a fan such as Klondike's waste, and the number of cards."""
    if not pile:
        return f"{place} empty"
    if pile[-1] == FACE_DOWN:
        return f"{place} {len(pile)}"
    return f"{place} {' '.join(pile[-3 if is_fan else -1 :])}" + (f" ({len(pile)})" if len(pile) > 1 else "")

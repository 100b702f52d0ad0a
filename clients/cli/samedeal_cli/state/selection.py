"""The hand: which piles are picked up, and what picking another one means, from the legal moves and the layout alone.

The shape of a move says what is picked: `l4u4` a pile and where it goes, `r3` one place, `a2+b3+d1` or `c2-` all that
leave together, and a word such as `draw` nothing at all. Each pick leaves fewer moves; the last one left is played.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Literal, NamedTuple, Self

LETTERS: Final = "asdfgjklwertop"
"""What jumps to a pile: letters under the fingers that no other key needs."""

Direction = Literal["left", "right", "up", "down"]


class Choice(NamedTuple):
    """A legal move as the hand sees it."""

    move: str
    places: tuple[str, ...]
    """Those that it names, in its order; none for a word."""

    @property
    def carries(self) -> bool:
        """Whether it names where a card comes from and where it goes."""
        return len(self.places) == 2 and "+" not in self.move

    @property
    def group(self) -> bool:
        """Whether it names all the cards that leave together."""
        return "+" in self.move or self.move.endswith("-")


@dataclass(frozen=True)
class Hand:
    """What is picked up before a position. It never changes: whatever is done with it answers with another."""

    moves: tuple[str, ...] = ()
    """The legal ones, in the server's order."""
    layout: str = ""
    foundations: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()
    auto_drop: bool = True
    """Whether the last move left is played before all of it has been named."""
    picks: tuple[str, ...] = ()
    cursor: str | None = None

    # What there is.

    @cached_property
    def places(self) -> tuple[str, ...]:
        """All places of the table in reading order."""
        return tuple(place for place in self.layout.split() if place != ".")

    @cached_property
    def candidates(self) -> tuple[Choice, ...]:
        """The moves that are still meant, as far as places were picked."""
        return tuple(choice for choice in self._all if self._fits(choice))

    @cached_property
    def choices(self) -> tuple[str, ...]:
        """The places that may be picked next, in reading order."""
        following = {place for choice in self.candidates for place in self._following(choice)}
        return tuple(place for place in self.places if place in following)

    @cached_property
    def letters(self) -> dict[str, str]:
        """The letter of each place that may be picked next, as far as there are letters."""
        return dict(zip(self.choices, LETTERS, strict=False))

    @cached_property
    def word(self) -> str | None:
        """The move that names no place: what the stock can do."""
        return next((choice.move for choice in self._all if not choice.places), None)

    def lettered(self, letter: str) -> str | None:
        """The place with this letter."""
        return next((place for place, its in self.letters.items() if its == letter), None)

    def placed(self, move: str) -> Choice:
        """A move with the places that it names."""
        return Choice(move, _places(move, self.places))

    # What can be done.

    def empty(self) -> Self:
        """With nothing picked up."""
        return replace(self, picks=())

    def pick(self, place: str) -> tuple[Self, str | None]:
        """Pick a place, or let go of one that is picked; and the move to make, if that says one.

        It need not be a legal one: who picks what does not go asks for the rule, and the server knows it.
        """
        if place in self.picks:
            return replace(self, picks=tuple(other for other in self.picks if other != place)), None
        if place in self.choices:
            held = replace(self, picks=(*self.picks, place))
            only = held.candidates[0] if len(held.candidates) == 1 else None
            if only and (self.auto_drop or set(only.places) == set(held.picks)):
                return self.empty(), only.move
            return held, None
        if not self.picks and place in self.hidden and self.word:
            return self, self.word
        return self.empty(), self._attempt(place)

    def enter(self) -> tuple[Self, str | None]:
        """Pick what the cursor is on, or put down what is picked where it goes best."""
        if self.cursor and self.cursor not in self.picks and (not self.picks or self.cursor in self.choices):
            return self.pick(self.cursor)
        return self.drop() if self.picks else (self, None)

    def drop(self) -> tuple[Self, str | None]:
        """Put down what is picked: exactly that, or else on the first place in the server's order."""
        if not self.picks:
            return self, None
        exact = (choice for choice in self.candidates if set(choice.places) == set(self.picks))
        carried = (choice for choice in self.candidates if not choice.group)
        best = next(exact, None) or next(carried, None)
        return self.empty(), best.move if best else _group(self.picks)

    def home(self, place: str) -> str | None:
        """The move that sends a pile's card home; the best drop where a game has no foundations."""
        moves = [choice for choice in self.empty().candidates if place in choice.places[:1]]
        if self.foundations:
            moves = [choice for choice in moves if not choice.carries or choice.places[1] in self.foundations]
        moves = [choice for choice in moves if not choice.group or len(choice.places) == 1]
        return moves[0].move if moves else None

    def turned(self, direction: Direction) -> Self:
        """With the cursor one place further; at first it stands where a card can be played."""
        if self.cursor is None:
            return replace(self, cursor=next(iter(self.choices or self.places), None))
        return replace(self, cursor=_neighbour(self._rows, self.cursor, direction))

    # How it is worked out.

    @cached_property
    def _all(self) -> tuple[Choice, ...]:
        return tuple(map(self.placed, self.moves))

    @cached_property
    def _rows(self) -> list[list[str]]:
        return [line.split() for line in self.layout.strip().splitlines()]

    def _fits(self, choice: Choice) -> bool:
        if choice.group:
            return set(self.picks) <= set(choice.places)
        return bool(choice.places or not self.picks) and choice.places[: len(self.picks)] == self.picks

    def _following(self, choice: Choice) -> Sequence[str]:
        if choice.group:
            return [place for place in choice.places if place not in self.picks]
        return choice.places[len(self.picks) :][:1]

    def _attempt(self, place: str) -> str | None:
        """What one asks for who picks a place that is no choice, written as moves are written here."""
        picks = (*self.picks, place)
        if any(choice.group for choice in self._all):
            return _group(picks)
        if any(choice.carries for choice in self._all):
            return "".join(picks) if len(picks) == 2 else None
        return place if len(picks) == 1 and len(place) == 2 else None


def _places(move: str, places: Sequence[str]) -> tuple[str, ...]:
    parts = tuple(move.removesuffix("-").split("+"))
    if set(parts) <= set(places):
        return parts
    for cut in range(1, len(move)):
        if move[:cut] in places and move[cut:] in places:
            return move[:cut], move[cut:]
    # A place with a longer name is called by its first letter.
    return tuple(place for place in places if len(move) == 1 and len(place) > 2 and place[0] == move)[:1]


def _group(picks: Sequence[str]) -> str:
    return "+".join(sorted(picks)) if len(picks) > 1 else f"{picks[0]}-"


def _neighbour(rows: Sequence[Sequence[str]], place: str, direction: Direction) -> str:
    """The next place in a direction: along the row, or the nearest one in the next row; itself at the edge."""
    row, column = next((row, line.index(place)) for row, line in enumerate(rows) if place in line)
    if direction in ("left", "right"):
        line = rows[row][column + 1 :] if direction == "right" else rows[row][:column][::-1]
        return next((other for other in line if other != "."), place)
    others = rows[row + 1 :] if direction == "down" else rows[:row][::-1]
    for line in others:
        there = [(abs(at - column), at) for at, other in enumerate(line) if other != "."]
        if there:
            return line[min(there)[1]]
    return place

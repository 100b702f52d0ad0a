"""The selection: which piles are picked, and which move the next pick makes.

It uses only the legal moves and the layout, so it works for every game. The form of a move tells what it names: `l4u4`
a pile and its target, `r3` one place, `a2+b3+d1` or `c2-` all cards that leave together, and a word such as `draw`
nothing. Each pick leaves fewer candidates; the last one left is played. Moves such as `c3c5` and `c3c5:4` differ
only in the number of cards, which is chosen last.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Literal, NamedTuple, Self

from samedeal.cards import RANKS
from samedeal_cli.state.actions import key_name
from samedeal_cli.state.pile_keys import layout_keys

_SHORT_NAME: Final = re.compile(r"\b[a-z]\d\b")
HOME: Final = "home"
"""The move that sends all cards home that can safely go there."""
UNKNOWN: Final = " is not a key here."
GUARD_S: Final = 0.7
"""How long a key that may be the second half of a move that has been played does nothing (s)."""

Direction = Literal["left", "right", "up", "down"]


class Choice(NamedTuple):
    """A legal move and the places that it names."""

    move: str
    places: tuple[str, ...]
    """In the order of the move; empty for a word."""

    @property
    def is_transfer(self) -> bool:
        """Whether the move names a source and a target."""
        return len(self.places) == 2 and "+" not in self.move

    @property
    def is_group(self) -> bool:
        """Whether the move names all cards that leave together."""
        return "+" in self.move or self.move.endswith("-")

    def size(self, table: Mapping[str, Sequence[str]], labels: Mapping[str, str]) -> int:
        """Return how many cards move to the target: the number in the move or, where columns go down, those that fit.

        `labels` are the ranks that empty places expect.
        """
        source, onto = (table[place] for place in self.places)
        above = RANKS.find(onto[-1][:1]) if onto else RANKS.find(labels.get(self.places[1], "")) + 1
        number = self.move.partition(":")[2]
        count = int(number or above - RANKS.find(source[-1][:1]))
        fits = 0 < count <= len(source) and (number or source[-count][:1] == RANKS[above - 1])
        return count if fits else 1


class Played(NamedTuple):
    """A move that one key has played, and the places whose keys may be meant as its second half."""

    move: str
    places: frozenset[str]
    until: float

    def answered(
        self, old: Mapping[str, Sequence[str]], new: Mapping[str, Sequence[str]], fanned: Collection[str]
    ) -> "Played":
        """Add the places that cards have moved to, and drop those whose next card was in sight: its key can mean it."""
        grown = {place for place in new if len(new[place]) > len(old[place])}
        in_sight = {place for place in self.places & {*fanned} if [*new[place]] == [*old[place]][:-1]}
        return self._replace(places=(self.places - in_sight) | grown)


@dataclass(frozen=True)
class Selection:
    """The picked places of a position. It is immutable: every operation returns a new one."""

    moves: tuple[str, ...] = ()
    """The legal moves, in the server's order."""
    layout: str = ""
    foundations: frozenset[str] = frozenset()
    stock: str = ""
    """The pile that a word such as ``draw`` works, if there is one."""
    auto_drop: bool = True
    """Whether a pick that leaves one candidate plays it at once."""
    picks: tuple[str, ...] = ()
    cursor: str | None = None
    played: Played | None = None

    # Queries.

    @cached_property
    def places(self) -> tuple[str, ...]:
        """All places of the table, in reading order."""
        return tuple(place for place in self.layout.split() if place != ".")

    @cached_property
    def candidates(self) -> tuple[Choice, ...]:
        """The moves that match the picks."""
        return tuple(choice for choice in self._all if self._matches(choice))

    @cached_property
    def choices(self) -> tuple[str, ...]:
        """The places that can be picked next, in reading order."""
        following = {place for choice in self.candidates for place in self._following(choice)}
        return tuple(place for place in self.places if place in following)

    @property
    def keys(self) -> Mapping[str, str]:
        """The key of each place, the same for the whole game."""
        return layout_keys(self.layout)

    @property
    def stock_move(self) -> str | None:
        """The move that works the stock, such as ``draw``, or the whole table if there is no stock."""
        return next((word for word in self.words if word != HOME or not self.stock), None)

    @property
    def words(self) -> Sequence[str]:
        """The moves that name no place, such as ``draw`` and ``home``."""
        return [choice.move for choice in self._all if not choice.places]

    @property
    def numbers(self) -> Mapping[str, str]:
        """The moves between the picked places by how many cards they move, if that has to be chosen."""
        moves = [choice.move for choice in self.candidates if choice.places and choice.places == self.picks]
        return {move.partition(":")[2] or "1": move for move in moves} if len(moves) > 1 else {}

    @property
    def names_targets(self) -> bool:
        """Whether a move names a source and a target."""
        return any(choice.is_transfer for choice in self._all)

    @property
    def stock_places(self) -> tuple[str, ...]:
        """The places that a move that names no place works."""
        return (self.stock,) if self.stock else ()

    def place_of(self, key: str) -> str | None:
        """Return the place with this key."""
        return next((place for place, other in self.keys.items() if other == key), None)

    def parse(self, move: str) -> Choice:
        """Return a move with the places that it names."""
        return Choice(move, _places(move, self.places))

    def with_keys(self, text: str) -> str:
        """Replace the names of places in a text by their keys: ``7♣ to [x]``. Piles such as the stock keep theirs."""
        return _SHORT_NAME.sub(lambda name: f"[{self.keys[name[0]]}]" if name[0] in self.keys else name[0], text)

    def ignores(self, key: str, now: float) -> bool:
        """Return whether a key may be meant as the second half of a move that has just been played."""
        return self.played is not None and self.place_of(key) in self.played.places and now < self.played.until

    # Operations.

    def without_picks(self) -> Self:
        """Return the selection with nothing picked."""
        return replace(self, picks=())

    def pick(self, place: str) -> tuple[Self, str | None]:
        """Pick a place, or unpick it; return the selection and the move to play, if that completes one.

        The move can be illegal: the server's refusal then explains the rule.
        """
        if self.numbers and place == self.picks[-1]:
            return self.without_picks(), [*self.numbers.values()][-1]
        if place in self.picks:
            return replace(self, picks=tuple(other for other in self.picks if other != place)), None
        if place in self.choices:
            selected = replace(self, picks=(*self.picks, place))
            only = selected.candidates[0] if len(selected.candidates) == 1 else None
            if only and (self.auto_drop or set(only.places) == set(selected.picks)):
                return self.without_picks(), only.move
            return selected, None
        if not self.picks and place == self.stock and self.stock_move:
            return self, self.stock_move
        return self.without_picks(), self._attempt(place)

    def press(self, key: str, now: float) -> tuple[Self, str | None, str]:
        """Press the key of a pile; return the selection, the move to play, and why nothing happened.

        A move that names two piles takes both keys. The key of a picked pile sends its card home, or unpicks it. After
        one key has played a move, the keys of that move's places do nothing for a moment, except where the next card
        was in sight.
        """
        if key in self.numbers:
            return self.without_picks(), self.numbers[key], ""
        place = self.place_of(key)
        if not place:
            return self, None, key_name(key) + UNKNOWN
        if self.played and self.ignores(key, now):
            source = next(iter(self.parse(self.played.move).places), "")
            again = "play its next card" if place == source else f"use {_named(place, 'the')}"
            message = f"{_named(source, 'The')} was just played. Press {key} again to {again}."
            return replace(self, played=None), None, message
        if self.picks == (place,) and (home := self.home_move(place)):
            return self.without_picks(), home, ""
        selected, move = replace(self, auto_drop=False, played=None).pick(place)
        if move and self.parse(move).places == (place,):
            selected = replace(selected, played=Played(move, frozenset({place}), now + GUARD_S))
        silent = not move and not selected.picks and not self.picks
        return selected, move, f"Nothing on {_named(place, 'the')} can be played now." if silent else ""

    def enter(self) -> tuple[Self, str | None]:
        """Pick the place under the cursor, or drop the picked cards on the best place."""
        if self.cursor and self.cursor not in self.picks and (not self.picks or self.cursor in self.choices):
            return self.pick(self.cursor)
        return self.drop() if self.picks else (self, None)

    def drop(self) -> tuple[Self, str | None]:
        """Play the move that names exactly the picks, else the first candidate in the server's order."""
        if not self.picks:
            return self, None
        if self.numbers:
            return self.pick(self.picks[-1])
        exact = (choice for choice in self.candidates if set(choice.places) == set(self.picks))
        others = (choice for choice in self.candidates if not choice.is_group)
        best = next(exact, None) or next(others, None)
        return self.without_picks(), best.move if best else _group(self.picks)

    def home_move(self, place: str) -> str | None:
        """Return the move that sends a pile's card home, or the best drop if the game has no foundations."""
        moves = [choice for choice in self.without_picks().candidates if place in choice.places[:1]]
        if self.foundations:
            moves = [choice for choice in moves if not choice.is_transfer or choice.places[1] in self.foundations]
        moves = [choice for choice in moves if not choice.is_group or len(choice.places) == 1]
        return moves[0].move if moves else None

    def move_cursor(self, direction: Direction) -> Self:
        """Move the cursor by one place. It first appears on a playable card."""
        if self.cursor is None:
            return replace(self, cursor=next(iter(self.choices or self.places), None))
        return replace(self, cursor=_neighbour(self._rows, self.cursor, direction))

    @cached_property
    def _all(self) -> tuple[Choice, ...]:
        return tuple(map(self.parse, self.moves))

    @cached_property
    def _rows(self) -> list[list[str]]:
        return [line.split() for line in self.layout.strip().splitlines()]

    def _matches(self, choice: Choice) -> bool:
        if choice.is_group:
            return set(self.picks) <= set(choice.places)
        return bool(choice.places or not self.picks) and choice.places[: len(self.picks)] == self.picks

    def _following(self, choice: Choice) -> Sequence[str]:
        if choice.is_group:
            return [place for place in choice.places if place not in self.picks]
        return choice.places[len(self.picks) :][:1]

    def _attempt(self, place: str) -> str | None:
        """Return the illegal move that picking this place means, in the notation of this game."""
        picks = (*self.picks, place)
        if not any(choice.places for choice in self._all) or (len(place) > 2 and not self.picks):
            return None
        if any(choice.is_group for choice in self._all):
            return _group(picks)
        if self.names_targets:
            return "".join(map(_in_moves, picks)) if len(picks) == 2 else None
        return None if self.picks or place in self.foundations else place


def _places(move: str, places: Sequence[str]) -> tuple[str, ...]:
    move = move.partition(":")[0]
    named = {_in_moves(place): place for place in places}
    parts = tuple(move.removesuffix("-").split("+"))
    if set(parts) <= named.keys():
        return tuple(named[part] for part in parts)
    pairs = ((move[:index], move[index:]) for index in range(1, len(move)))
    return next(((named[first], named[second]) for first, second in pairs if {first, second} <= named.keys()), ())


def _in_moves(place: str) -> str:
    """Return the name of a place in moves, which abbreviate longer names to the first letter: ``w`` for the waste."""
    return place[0] if len(place) > 2 else place


def _named(place: str, article: str) -> str:
    """Return a place as a sentence names it: ``r3``, ``the waste``."""
    return f"{article} {place}" if len(place) > 2 else place


def _group(picks: Sequence[str]) -> str:
    return "+".join(sorted(picks)) if len(picks) > 1 else f"{picks[0]}-"


def _neighbour(rows: Sequence[Sequence[str]], place: str, direction: Direction) -> str:
    """Return the next place in the row or the nearest in the next row; at the edge, the place itself."""
    row, column = next((row, line.index(place)) for row, line in enumerate(rows) if place in line)
    if direction in ("left", "right"):
        line = rows[row][column + 1 :] if direction == "right" else rows[row][:column][::-1]
        return next((other for other in line if other != "."), place)
    others = rows[row + 1 :] if direction == "down" else rows[:row][::-1]
    for line in others:
        nearest = [(abs(index - column), index) for index, other in enumerate(line) if other != "."]
        if nearest:
            return line[min(nearest)[1]]
    return place

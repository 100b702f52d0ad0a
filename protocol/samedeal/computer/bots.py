"""Bots: the players that belong to the library, the same in every language, to the byte.

A bot looks at a position, keeps the moves that it likes best and leaves the choice among them to luck. Its luck is the
stream of words of ``slug-bot|seed|k``, where k is the number of the play: so each play of each deal can be had again.
Bots have versions like rules. What is found out with them, such as which deals are friendly, rests on every move, so a
bot that plays otherwise is another bot. docs/bots/bots.md describes each to the byte.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from msgspec import Struct

from samedeal.cards import RANKS, TEN, rank_of, suit_of
from samedeal.deck import Words
from samedeal.game import Game, Move, Variant
from samedeal.games.corner_stones import CORNERS, FIRSTS, ROWS, STEPS
from samedeal.games.grid import CELLS, OWN_CELLS

MAX_MOVES = 200
"""Where every play ends. Only in Corner Stones, where cards can go to and fro for ever, is it ever reached."""

Liking = Callable[[Game, Move, Words], Sequence[Move]]
"""From a position that is not over and the move that led to it, empty at first: the moves that a bot likes best."""


_Worth = TypeVar("_Worth", int, tuple[int, int])


@dataclass(frozen=True)
class Bot:
    """One bot: its name with its version, how it plays, and the variant that it plays whatever the race's."""

    name: str
    likes: Liking
    variant: Variant


class Run(Struct, frozen=True):
    """One play of a bot, from the deal to its end."""

    bot: str
    k: int
    moves: tuple[Move, ...]
    home: int
    won: bool


def play(game: type[Game], seed: str, k: int, variant: Variant | None = None) -> Run:
    """Play number k of the bot of a game on the deal of a seed."""
    return next(plays(game, seed, (k,), variant))


def plays(game: type[Game], seed: str, numbers: Iterable[int], variant: Variant | None = None) -> Iterator[Run]:
    """The plays with these numbers, one by one as they are asked for; the cards are dealt only once."""
    bot = BOTS[game.slug]
    deal = game.from_seed(seed, **{**(variant or {}), **bot.variant})
    return (_played(bot, deal, Words(f"{game.slug}-bot|{seed}|{k}"), k) for k in numbers)


def _played(bot: Bot, position: Game, words: Words, k: int) -> Run:
    moves: list[Move] = []
    while not position.over and len(moves) < MAX_MOVES:
        liked = bot.likes(position, moves[-1] if moves else "", words)
        moves.append(liked[words.below(len(liked))])
        position = position.after(moves[-1])
    return Run(bot.name, k, tuple(moves), position.home, position.won)


# Corner Stones.


def _sends_home(position: Game, last: Move, words: Words) -> Sequence[Move]:
    """Cards go home when they can. Otherwise a card moves that lets one go home next, be it this card or the one that
    it uncovers. Otherwise any card moves, but not back to where it has just come from unless nothing else can move.
    """
    moves = position.moves()
    if home := [move for move in moves if move[2:] in FIRSTS]:
        return home
    onward = [move for move in moves if move != last[2:] + last[:2]] or moves
    wanted = _wanted(position)
    return [move for move in onward if _makes_ready(position, move, wanted)] or onward


def _wanted(position: Game) -> Mapping[str, str]:
    """The cards that the foundations take next, each with the number of its row."""
    tops = ((STEPS[place[0]], card) for place, card in position.table.tops(FIRSTS))
    following = ((rank_of(card) + step, suit_of(card)) for step, card in tops)
    return {RANKS[rank - 1] + suit: ROWS[suit] for rank, suit in following if 1 <= rank <= len(RANKS)}


def _makes_ready(position: Game, move: Move, wanted: Mapping[str, str]) -> bool:
    """Whether a card can go home after this move, from where it has gone to or from under it."""
    stack = position.table[move[:2]]
    shown = [(move[2:], stack[-1]), *((move[:2], card) for card in stack[-2:-1])]
    return any(card in wanted and (place in CORNERS or place[1] == wanted[card]) for place, card in shown)


# The Edge and Kings in the Corners.

_RANK_OF = {cell: rank for rank, (_, cells) in OWN_CELLS.items() for cell in cells}
"""The rank that a cell at the edge belongs to; the four cells in the centre belong to none."""
_CENTRE = frozenset(CELLS) - _RANK_OF.keys()
_LONGEST_PAIR = len("a2+b3")


def _keeps_the_edge_free(position: Game, last: Move, words: Words) -> Sequence[Move]:
    """Numbers lie in the centre while there is room, and then where the most cells can be spared for face cards. Tens
    and pairs go before anything else, first those that free most cells at the edge. A larger group, the smaller the
    better, goes only when nothing has been removed yet, and otherwise the next card is drawn.
    """
    moves, hand = position.moves(), position.table.top("hand")
    if hand is None:
        return _groups(moves)
    if rank_of(hand) > TEN:
        return moves
    return [cell for cell in moves if cell in _CENTRE] or _most_to_spare(position, moves)


def _most_to_spare(position: Game, cells: Sequence[Move]) -> Sequence[Move]:
    spare = {rank: _spare(position, rank) for rank in OWN_CELLS}
    return _best(cells, lambda cell: spare[_RANK_OF[cell]])


def _spare(position: Game, rank: int) -> int:
    """Twice the free cells of a rank, less the cards of that rank that have still to be placed."""
    piles = [position.table[cell] for cell in OWN_CELLS[rank][1]]
    return 2 * piles.count(()) - sum(not pile or rank_of(pile[-1]) != rank for pile in piles)


def _groups(moves: Sequence[Move]) -> Sequence[Move]:
    if small := [move for move in moves if len(move) <= _LONGEST_PAIR and move != "draw"]:
        return _best(small, _cells_freed_at_the_edge)
    if "draw" in moves:
        return ["draw"]
    return _best(moves, lambda move: (-len(move), _cells_freed_at_the_edge(move)))


def _cells_freed_at_the_edge(move: Move) -> int:
    return sum(cell in _RANK_OF for cell in move.removesuffix("-").split("+"))


# Corners.


def _plays_everything(position: Game, last: Move, words: Words) -> Sequence[Move]:
    """What can be played is played at once, whichever it is; only then a card is drawn, or the waste turned over."""
    moves = position.moves()
    return [move for move in moves if move not in ("draw", "redeal")] or moves


# Gallery.

_ONE_IN = 100
"""How often a round is left with cards to play: once in so many moves."""


def _takes_pot_luck(position: Game, last: Move, words: Words) -> Sequence[Move]:
    """Any card that can be played is as good as another. When there is none, or once in a hundred moves out of
    impatience, eight more are dealt.
    """
    moves = position.moves()
    if "deal" in moves and (words.below(_ONE_IN) == 0 or moves == ("deal",)):
        return ["deal"]
    return [move for move in moves if move != "deal"]


def _best(moves: Sequence[Move], worth: Callable[[Move], _Worth]) -> Sequence[Move]:
    """The moves that are worth most, in their order."""
    worths = [worth(move) for move in moves]
    most = max(worths)
    return [move for move, its in zip(moves, worths, strict=True) if its == most]


BOTS: Mapping[str, Bot] = {
    "corner-stones": Bot("corner-stones-bot/1", _sends_home, {}),
    "the-edge": Bot("the-edge-bot/1", _keeps_the_edge_free, {}),
    "corners": Bot("corners-bot/1", _plays_everything, {}),
    "kings-in-the-corners": Bot("kings-in-the-corners-bot/1", _keeps_the_edge_free, {}),
    "gallery": Bot("gallery-bot/1", _takes_pot_luck, {"cap": False}),
}
"""The bot of each game, by the game's slug."""

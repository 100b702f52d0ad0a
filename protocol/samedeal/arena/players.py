"""The built-in players of the arena, from random moves to searches of what the hidden cards could be.

All of them play from what a racer sees and remembers. Their choices are reproducible: the random numbers are the words
of ``name|race|seat|ply``.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Final

from samedeal.arena import playouts
from samedeal.arena.playouts import PLAYOUTS
from samedeal.cards import BACK, Pile
from samedeal.computer import grid_bot
from samedeal.computer.bot import MAX_MOVES, Bot, Seen
from samedeal.computer.bot_levels import LEVELS
from samedeal.computer.first_bots import FIRST_BOTS
from samedeal.deck import Words
from samedeal.game import Game, Move, Variant
from samedeal.games.gallery import Gallery
from samedeal.games.grid import Grid
from samedeal.race.run import RESTART, Run
from samedeal.solver import gallery_search as gallery
from samedeal.solver.solve import SOLVERS, solve
from samedeal.values import replace
from samedeal.wire.bot_player import MAX_ATTEMPTS, RESIGN
from samedeal.wire.messages import View

BUDGETS: Final = dict.fromkeys(SOLVERS, 20_000) | {"corner-stones": 100_000}
"""The maximum number of positions in a search of ``solver``, by the slug of the game. In Corner Stones, where it sees
all cards, it searches only once per race.
"""
WORLDS: Final = 20
"""The number of orders of the unseen cards that ``solver`` searches at the start of another attempt."""
MANY_ATTEMPTS: Final = 2 * MAX_ATTEMPTS
"""After how many attempts ``playouts`` and ``solver`` resign."""
QUICK_BUDGET: Final = 1_000
"""The maximum number of positions in a search that compares lines."""


class Player(ABC):
    """Chooses the moves of one seat in one race."""

    def __init__(self, name: str) -> None:
        self.name = name

    @abstractmethod
    def choose(self, view: View, run: Run) -> Move:
        """Return a move, ``restart`` or ``resign``, given the view of the seat and its attempts so far.

        What the seat has not seen of ``run`` does not matter to the choice.
        """


class _Attempting(Player):
    """Restarts where it has no move, and resigns after some attempts."""

    longest: int | None = MAX_MOVES
    """The maximum number of moves in an attempt."""
    attempts = MAX_ATTEMPTS

    def choose(self, view: View, run: Run) -> Move:
        words = Words(f"{self.name}|{view.race}|{view.seat}|{len(run.moves)}")
        if run.game.moves() and (self.longest is None or len(run.moves) < self.longest * run.attempts):
            return self.pick(run, words)
        return RESTART if run.attempts < self.attempts and run.may(RESTART) else RESIGN

    @abstractmethod
    def pick(self, run: Run, words: Words) -> Move:
        """Return a legal move."""


class RandomPlayer(_Attempting):
    """Plays any legal move."""

    def pick(self, run: Run, words: Words) -> Move:
        moves = run.game.moves()
        return moves[words.below(len(moves))]


class FirstPlayer(_Attempting):
    """Plays the first legal move."""

    def pick(self, run: Run, words: Words) -> Move:
        return run.game.moves()[0]


class GreedyPlayer(_Attempting):
    """Makes a move after which most cards are home."""

    def pick(self, run: Run, words: Words) -> Move:
        return _any(playouts.greedy(Seen.of(run.game, {}), run.moves[-1] if run.moves else "", words), words)


class PlayoutPlayer(_Attempting):
    """Makes a move after which most cards are home in the end, on average over some plays."""

    attempts = MANY_ATTEMPTS

    def pick(self, run: Run, words: Words) -> Move:
        last = run.moves[-1] if run.moves else ""
        return _any(playouts.playouts(type(run.game), Seen.of(run.game, {}), last, words), words)


class BotPlayer(_Attempting):
    """Plays like a bot."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._bot = _NAMED[name]
        self.longest = self._bot.max_moves

    def pick(self, run: Run, words: Words) -> Move:
        seen = Seen.of(run.game, _variant(run.game))
        return _any(self._bot.strategy(seen, run.moves[-1] if run.moves else "", words), words)


class SolverPlayer(_Attempting):
    """Remembers the cards of earlier attempts. It searches for a win with the cards that it knows, and the others in
    some random orders, and plays it as long as the cards come as expected.

    Otherwise it plays on the grid like the expert, and elsewhere like ``playouts``.
    """

    longest = None
    attempts = MANY_ATTEMPTS

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._unseen = dict[str, int]()
        self._searched = set[object]()
        self._line = list[Move]()
        self._expected: Game | None = None

    def pick(self, run: Run, words: Words) -> Move:
        position = self.remembered(run.game)
        knows_all = not any(self._unseen.values())
        moment, known = (run.attempts, knows_all), tuple(position.table.piles.items())
        if (knows_all or run.attempts > 1) and moment not in self._searched:
            if known not in self._searched:
                self._search(run.game, position, words)
            self._searched |= {moment, known}
        if self._line and self._expected and self._expected.view() == run.game.view():
            self._expected = self._expected.after(self._line[-1])
            return self._line.pop()
        last = run.moves[-1] if run.moves else ""
        if isinstance(run.game, Grid):
            return _any(grid_bot.expert(position, last, words), words)
        return _any(playouts.playouts(type(run.game), position, last, words), words)

    def _search(self, game: Game, position: Seen, words: Words) -> None:
        """Search some orders of the unseen cards for lines. Keep the one after which most other orders can be won."""
        unseen = playouts.unseen_cards(type(game), position)
        if not unseen:
            self._line, self._expected = list(reversed(_line(game))), game
            return
        orders = [words.shuffled(unseen) for _ in range(WORLDS)]
        most = -1
        for order in orders:
            world = _with_stock(game, playouts.with_unseen(position, order))
            if line := _line(world):
                met, wins = _where_unseen_cards_come(world, line, len(unseen)), 0
                if (left := len(met.table["stock"])) <= len(unseen):  # else the line ends before they come
                    wins = sum(solve(_with_stock(met, other[:left]), QUICK_BUDGET).outcome == "won" for other in orders)
                if wins > most:
                    most, self._line, self._expected = wins, list(reversed(line)), world

    def remembered(self, position: Game) -> Seen:
        """Return the position with the cards of face-down piles that it has seen before.

        The piles are dealt from the top, so the cards that it has never seen are at the bottom.
        """
        piles = {}
        for place in position.hidden:
            pile = position.table[place]
            unseen = self._unseen[place] = min(self._unseen.get(place, len(pile)), len(pile))
            piles[place] = (BACK,) * unseen + pile[unseen:]
        return replace(Seen.of(position, _variant(position)), table=position.table.put(piles))


def _with_stock(position: Game, stock: Pile) -> Game:
    return replace(position, table=position.table.put({"stock": stock}))


def _where_unseen_cards_come(position: Game, line: tuple[Move, ...], unseen: int) -> Game:
    """Return the position on a line in which only so many cards are left in the stock, or else the last one."""
    for move in line:
        if len(position.table["stock"]) <= unseen:
            break
        position = position.after(move)
    return position


def _line(position: Game) -> tuple[Move, ...]:
    """Return a winning line or, in Gallery, at least one with many cards home."""
    budget = BUDGETS[position.slug]
    best = gallery.search_best(position, budget) if isinstance(position, Gallery) else solve(position, budget)
    return best.line


def _any(moves: Sequence[Move], words: Words) -> Move:
    return moves[words.below(len(moves))]


def _variant(position: Game) -> Variant:
    return {option: getattr(position, option) for option in position.options}


_NAMED: Final[Mapping[str, Bot]] = {
    bot.name: bot for bot in chain(FIRST_BOTS.values(), *(bots.values() for bots in LEVELS.values()))
}
_GAMES: Final[Mapping[str, str]] = {
    bot.name: slug for bots in (FIRST_BOTS, *LEVELS.values()) for slug, bot in bots.items()
}
PLAYERS: Final[Mapping[str, Callable[[str], Player]]] = {
    "random": RandomPlayer,
    "first": FirstPlayer,
    "greedy": GreedyPlayer,
    "playouts": PlayoutPlayer,
    "solver": SolverPlayer,
    **dict.fromkeys(_NAMED, BotPlayer),
}
"""The players by name. A name such as ``corners-bot/1`` plays only its game."""


def plays(name: str, game: str) -> bool:
    """Return whether a player plays the game with this slug. Raises KeyError for an unknown player."""
    player = PLAYERS[name]
    if player is BotPlayer:
        return _GAMES[name] == game
    return player in (RandomPlayer, FirstPlayer) or game in (SOLVERS if player is SolverPlayer else PLAYOUTS)

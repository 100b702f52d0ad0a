"""The built-in players of the arena, from random moves to searches of what the hidden cards could be.

All of them play from what a racer sees and remembers. Their choices are reproducible: the random numbers are the words
of ``name|race|seat|ply``.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from samedeal.arena.playouts import greedy, playouts, unseen_cards, with_unseen
from samedeal.cards import BACK, Pile
from samedeal.computer import grid_bot
from samedeal.computer.bot import MAX_ATTEMPTS, Bot, Seen
from samedeal.computer.bots import LEVELS
from samedeal.computer.first_bots import FIRST_BOTS
from samedeal.deck import Words
from samedeal.game import Game, Move
from samedeal.games.catalogue import GAMES
from samedeal.games.gallery import Gallery
from samedeal.games.grid import Grid
from samedeal.race.run import MAX_MOVES, Run
from samedeal.solver import gallery_search as gallery
from samedeal.solver.solve import SOLVERS, solve
from samedeal.values import replace
from samedeal.wire import bot_player
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


class BotPlayer:
    """Plays one seat in one race like a bot."""

    def __init__(self, name: str) -> None:
        self._name = name

    def choose(self, view: View, run: Run) -> Move:
        """Return a move, ``restart`` or ``resign``, given the view of the seat and its attempts so far.

        What the seat has not seen of ``run`` does not matter to the choice.
        """
        last = run.moves[-1] if run.moves else ""
        return bot_player.choose(view, last, f"{view.race}|{view.seat}", run.game.recalled(), self._bot(run))

    def _bot(self, run: Run) -> Bot:
        return bots(run.deal.slug)[self._name]


class SolverPlayer(BotPlayer):
    """Remembers the cards of earlier attempts. It searches for a win with the cards that it knows, and the others in
    some random orders, and plays it as long as the cards come as expected.

    Otherwise it plays on the grid like the expert, and elsewhere like ``playouts``, as always in Klondike.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._unseen = dict[str, int]()
        self._searched = set[object]()
        self._line = list[Move]()
        self._expected: Game | None = None

    def _bot(self, run: Run) -> Bot:
        strategy = partial(self._candidates, run)
        return Bot(self._name, strategy, max_moves=MAX_MOVES, max_attempts=MANY_ATTEMPTS)

    def _candidates(self, run: Run, seen: Seen, last: Move, words: Words) -> Sequence[Move]:
        if run.game.hidden.keys() - {run.game.stock}:  # in Klondike, unseen cards also lie in the columns
            return playouts(type(run.game), seen, last, words)
        position = replace(self.remembered(run.game), variant=seen.variant)
        knows_all = not any(self._unseen.values())
        moment, known = (run.attempts, knows_all), tuple(position.table.piles.items())
        if (knows_all or run.attempts > 1) and moment not in self._searched:
            if known not in self._searched:
                self._search(run.game, position, words)
            self._searched |= {moment, known}
        if self._line and self._expected and self._expected.view() == run.game.view():
            self._expected = self._expected.after(self._line[-1])
            return [self._line.pop()]
        if isinstance(run.game, Grid):
            return grid_bot.expert(position, last, words)
        return playouts(type(run.game), position, last, words)

    def _search(self, game: Game, position: Seen, words: Words) -> None:
        """Search some orders of the unseen cards for lines. Keep the one after which most other orders can be won."""
        unseen = unseen_cards(type(game), position)
        if not unseen:
            self._line, self._expected = list(reversed(_line(game))), game
            return
        orders = [words.shuffled(unseen) for _ in range(WORLDS)]
        most = -1
        for order in orders:
            world = _with_stock(game, with_unseen(position, order))
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
        if place := position.stock:
            pile = position.table[place]
            unseen = self._unseen[place] = min(self._unseen.get(place, len(pile)), len(pile))
            piles[place] = (BACK,) * unseen + pile[unseen:]
        return replace(Seen.of(position, {}), table=position.table.put(piles))


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


def bots(game: str) -> Mapping[str, Bot]:
    """Return the bots that play the game with this slug, by name."""
    found = [
        Bot("random", lambda position, last, words: position.moves()),
        Bot("first", lambda position, last, words: position.moves()[:1]),
    ]
    if game in LEVELS["expert"]:
        found += [Bot("greedy", greedy), Bot("playouts", partial(playouts, GAMES[game]), max_attempts=MANY_ATTEMPTS)]
    found += (versions[game] for versions in (FIRST_BOTS, *LEVELS.values()) if game in versions)
    return {bot.name: bot for bot in found}


PLAYERS: Final[Mapping[str, type[BotPlayer]]] = {
    **dict.fromkeys(("random", "first", "greedy", "playouts"), BotPlayer),
    "solver": SolverPlayer,
    **dict.fromkeys((name for game in GAMES for name in bots(game)), BotPlayer),
}
"""The players by name. A name such as ``corners-bot/1`` plays only its game."""


def plays(name: str, game: str) -> bool:
    """Return whether a player plays the game with this slug. Raises KeyError for an unknown player."""
    return game in SOLVERS if PLAYERS[name] is SolverPlayer else name in bots(game)

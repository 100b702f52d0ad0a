"""The built-in players of the arena, from random moves to searches of what the hidden cards could be.

All of them play from what a racer sees and remembers. Their choices are reproducible: the random numbers are the words
of ``name|race|seat|ply``.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from samedeal.computer import bot_player
from samedeal.computer.bot import MAX_MOVES, Seen
from samedeal.computer.bot_player import MAX_ATTEMPTS, RESIGN
from samedeal.computer.bots import BOTS
from samedeal.deck import Words
from samedeal.game import Game, Move
from samedeal.games.grid import Grid
from samedeal.race.run import RESTART, Run
from samedeal.solver.grid import CLASSES
from samedeal.solver.solve import SOLVERS, solve
from samedeal.values import replace
from samedeal.wire.messages import View

PLAYOUTS: Final = 32
"""The number of plays with which ``playouts`` compares its moves. Each move gets the same number, at least four."""
PLAYOUT_MOVES: Final = 100
"""The maximum length of such a play, in moves."""
WORLDS: Final = 5
"""The number of orders of the unseen cards that ``solver`` searches. Without a win in the first two it searches no
more."""
WORLD_BUDGET: Final = 1_000
"""The maximum number of positions in each of these searches."""
SEEN_BUDGET: Final = 100_000
"""The maximum number of positions in the search of ``solver`` when it has seen all cards, once per attempt."""

_CLASS_OF: Final = {cell: number for number, cells in enumerate(CLASSES) for cell in cells}


class Player(ABC):
    """Chooses the moves of one seat in one race."""

    def __init__(self, name: str) -> None:
        self.name = name

    @abstractmethod
    def choose(self, view: View, run: Run) -> Move:
        """Return a move, ``restart`` or ``resign``, given the view of the seat and its attempts so far.

        What the seat has not seen of ``run`` does not matter to the choice.
        """


class GreedyPlayer(Player):
    """Plays like the bot of the game."""

    def choose(self, view: View, run: Run) -> Move:
        label = f"{self.name}|{view.race}|{view.seat}"
        return bot_player.choose(view, run.moves[-1] if run.moves else "", label)


class _Attempting(Player):
    """Restarts where it has no move, and resigns after MAX_ATTEMPTS."""

    longest: int | None = MAX_MOVES
    """The maximum number of moves in an attempt."""

    def choose(self, view: View, run: Run) -> Move:
        words = Words(f"{self.name}|{view.race}|{view.seat}|{len(run.moves)}")
        if run.game.moves() and (self.longest is None or len(run.moves) < self.longest * run.attempts):
            return self.pick(run, words)
        return RESTART if run.attempts < MAX_ATTEMPTS and run.may(RESTART) else RESIGN

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


class PlayoutPlayer(_Attempting):
    """Plays like the bot of the game, unless the bot brings clearly more cards home on average after another move.

    All moves are tried in the same orders of the unseen cards.
    """

    longest = None

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._unseen = dict[str, int]()

    def pick(self, run: Run, words: Words) -> Move:
        for place in run.game.hidden:
            count = len(run.game.table[place])
            self._unseen[place] = min(self._unseen.get(place, count), count)
        return self.best(run, words)

    def best(self, run: Run, words: Words) -> Move:
        """Return the best move."""
        moves = _distinct(run.game)
        seen = Seen.of(run.game, {})
        candidates = BOTS[run.game.slug].strategy(seen, run.moves[-1] if run.moves else "", words)
        usual = candidates[words.below(len(candidates))]
        others = [move for move in moves if move != usual]
        gains = {move: list[int]() for move in others}
        for _ in range(max(4, PLAYOUTS // len(moves)) if others else 0):
            world = self.world(run.game, words)
            result = _play_out(world.after(usual), usual, words)
            for move in others:
                gains[move].append(_play_out(world.after(move), move, words) - result)
        better = [move for move in others if _is_clear(gains[move])]
        return max(better, key=lambda move: sum(gains[move]), default=usual)

    def world(self, position: Game, words: Words) -> Game:
        """Return the position with the unseen cards in another order.

        Face-down piles are dealt from the top, so the cards that it has never seen are at the bottom. It remembers
        those above, which it saw in another attempt or before a redeal.
        """
        piles = {place: position.table[place] for place in sorted(position.hidden)}
        shuffled = {
            place: (*words.shuffled(sorted(pile[: self._unseen[place]])), *pile[self._unseen[place] :])
            for place, pile in piles.items()
        }
        return replace(position, table=position.table.put(shuffled))


class SolverPlayer(PlayoutPlayer):
    """Searches some orders of the unseen cards for wins and plays the move with which they begin in most of them.

    Once it has seen all cards, it searches for a win and plays it. Otherwise it chooses like ``playouts``.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._searched = 0
        self._line = list[Move]()

    def best(self, run: Run, words: Words) -> Move:
        if not any(self._unseen.values()):
            if self._searched < run.attempts:
                self._searched = run.attempts
                self._line = list(reversed(solve(run.game, SEEN_BUDGET).line))
            return self._line.pop() if self._line else super().best(run, words)
        moves = run.game.moves()
        if len(moves) == 1:
            return moves[0]
        firsts = Counter[Move]()
        for number in range(WORLDS):
            if line := solve(self.world(run.game, words), WORLD_BUDGET).line:
                firsts[line[0]] += 1
            elif number and not firsts:
                break
        agreed = [move for move in moves if 2 * firsts[move] > WORLDS]
        return agreed[0] if agreed else super().best(run, words)


def _distinct(position: Game) -> Sequence[Move]:
    """Return the legal moves without those that are equal to an earlier one because their cells are in one class."""
    if not isinstance(position, Grid):
        return position.moves()
    tops, kinds = position.table.top, dict[tuple[tuple[int, str], ...], Move]()
    for move in position.moves():
        cells = () if move == "draw" else move.removesuffix("-").split("+")
        kinds.setdefault(tuple(sorted((_CLASS_OF[cell], (tops(cell) or "")[:1]) for cell in cells)), move)
    return tuple(kinds.values())


def _play_out(position: Game, last: Move, words: Words) -> int:
    """Let the bot play from a position. Return the cards home, where a win counts as the goal."""
    bot = BOTS[position.slug]
    for _ in range(PLAYOUT_MOVES):
        if position.over:
            break
        candidates = bot.strategy(Seen.of(position, {}), last, words)
        last = candidates[words.below(len(candidates))]
        position = position.after(last)
    return position.goal if position.won else position.home


def _is_clear(gains: Sequence[int]) -> bool:
    """Return whether the mean is positive by more than 1.4 standard errors."""
    total, squares, count = sum(gains), sum(gain * gain for gain in gains), len(gains)
    return total > 0 and total * total * (count - 1) > 2 * (count * squares - total * total)


PLAYERS: Final[Mapping[str, Callable[[str], Player]]] = {
    "random": RandomPlayer,
    "first": FirstPlayer,
    "greedy": GreedyPlayer,
    "playouts": PlayoutPlayer,
    "solver": SolverPlayer,
    **{bot.name: GreedyPlayer for bot in BOTS.values()},
}
"""The players by name. A name such as ``corners-bot/1`` plays only its game."""


def plays(name: str, game: str) -> bool:
    """Return whether a player plays the game with this slug. Raises KeyError for an unknown player."""
    player = PLAYERS[name]
    if player is RandomPlayer or player is FirstPlayer:
        return True
    if game not in BOTS or (player is SolverPlayer and game not in SOLVERS):
        return False
    return name in ("greedy", "playouts", "solver", BOTS[game].name)

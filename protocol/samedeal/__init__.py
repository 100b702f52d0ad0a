"""Same Deal: the pure library of patience races.

Deal from a code, which names a game and a seed, and print the table. Each place shows its top card and, after a plus
sign, how many cards are under it:

>>> import samedeal
>>> game = samedeal.deal("corners:225")
>>> print(game)
f1 2S                     r1 4S                     f2 2H
             r2 3H        r3 5S        r4 2D
f3 TC                     r5 6D                     f4 AD
stock ??+42  waste --

Positions are immutable. List the legal moves, and make one to get the next position:

>>> game.moves()
('r2', 'r4', 'draw')
>>> game = game.after("r2")
>>> game.home, game.goal, game.outcome
(1, 48, 'playing')
>>> game.after("r1")
Traceback (most recent call last):
    ...
samedeal.errors.IllegalMove: 4S does not follow 2S: foundations go up in suit, and the ace follows the king.

Load a replay and verify it. Verification derives the deal again and checks every entry and the signature:

>>> from pathlib import Path
>>> replay = samedeal.read_replay(Path("docs/race.json").read_bytes())
>>> all(fact.holds for fact in samedeal.verify(replay))
True

Step through it. ``races()`` yields the race before the first entry of the log and after each one:

>>> races = list(replay.races())
>>> races[13].stage
'running'
>>> print(races[13].seat(1).run.game)
a1 --        b1 --        c1 QD        d1 --
a2 --        b2 --        c2 AS        d2 --
a3 --        b3 5H        c3 --        d3 --
a4 --        b4 --        c4 --        d4 --
hand 6H      stock ??+47  discard --
>>> for standing in races[-1].standings():
...     print(standing.place, standing.name, standing.outcome, f"{standing.ms / 1000:.1f} s")
1 ada won 62.0 s
2 bo won 68.4 s

``GAMES`` contains the games by slug:

>>> samedeal.GAMES["the-edge"].title
'The Edge'
"""

from typing import TYPE_CHECKING

__all__ = ("GAMES", "Game", "IllegalMove", "Race", "Refused", "Replay", "ReplayLines", "deal", "read_replay", "verify")

if TYPE_CHECKING:
    from samedeal.api import GAMES, Game, IllegalMove, Race, Refused, Replay, ReplayLines, deal, read_replay, verify
else:

    def __getattr__(name: str) -> object:
        """Load the public API on first use, so that importing a single module of the library stays cheap."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        import samedeal.api as api

        return getattr(api, name)

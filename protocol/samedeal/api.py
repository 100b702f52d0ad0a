"""The names of the public API, collected here so that ``import samedeal`` can load them on first use."""

from samedeal.errors import IllegalMove, Refused
from samedeal.game import Game
from samedeal.games.catalogue import GAMES, deal
from samedeal.proof.verification import verify
from samedeal.race.race import Race
from samedeal.replays.replay import Replay, ReplayLines
from samedeal.replays.replay import read as read_replay

__all__ = ("GAMES", "Game", "IllegalMove", "Race", "Refused", "Replay", "ReplayLines", "deal", "read_replay", "verify")

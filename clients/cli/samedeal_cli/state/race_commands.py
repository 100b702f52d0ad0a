"""What the app of a race does after a key or a click, other than showing the next state."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from samedeal.race.server_bots import Level
from samedeal.wire.messages import ReactionName
from samedeal_cli.state.race_state import RaceState
from samedeal_cli.state.selection import Selection

Text = Literal["help", "rules", "link", "checks", "evening"]
"""A text that can be shown over the race."""


@dataclass(frozen=True)
class PlayMove:
    """Send a move."""

    move: str


@dataclass(frozen=True)
class RaceAgain:
    """Join the rematch, or another race like this one if the user has no seat in it."""

    game: str | None = None
    """The slug of another game."""
    ready: bool = False
    """Whether to be ready at once."""
    ghosts: bool = False
    """Whether to race alone on the same deal, with the racers as ghosts, instead."""


@dataclass(frozen=True)
class RemovePlayer:
    """As the host, remove a player from the lobby."""

    seat: int


@dataclass(frozen=True)
class AddBot:
    """Add the server bot of a level, or the next one."""

    level: Level | None = None


@dataclass(frozen=True)
class SendReaction:
    """Send a reaction to the other racers."""

    reaction: ReactionName


@dataclass(frozen=True)
class Show:
    """Show a text over the race."""

    text: Text


@dataclass(frozen=True)
class Ask:
    """Ask a question. If the answer is yes, do the step."""

    question: str
    then: "Run"


@dataclass(frozen=True)
class Choose:
    """Let the player choose one of several options, and do its step."""

    title: str
    options: "Mapping[str, Run]"


Command = (
    PlayMove
    | RaceAgain
    | RemovePlayer
    | AddBot
    | SendReaction
    | Show
    | Ask
    | Choose
    | Literal["ready", "unready", "start", "resign", "leave", "copy-link", "copy-result"]
    | Literal["type", "open-replay", "quit"]
)
"""What the app does: "leave" gives up the seat and quits, "quit" keeps the seat, "type" opens the move line."""
Step = tuple[RaceState, Command | None]
"""The next state, and a command for the app to run."""
Run = Callable[[RaceState], Step]


def play(state: RaceState, move: str) -> Step:
    """Send a move, and show it as pending."""
    return replace(state, picks=(), played=None, pending=move, notice=None), PlayMove(move)


def apply_selection(state: RaceState, selection: Selection, move: str | None) -> Step:
    """Play the selected move, or show the selection."""
    if move:
        return play(state, move)
    return replace(state, picks=selection.picks, notice=None if selection.picks else state.notice), None

"""What the app of a race does after a key or a click, other than showing the next state."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Literal, NamedTuple

from samedeal.wire import messages as m
from samedeal_cli.state.race_state import Notice, RaceState
from samedeal_cli.state.selection import Selection

Text = Literal["help", "rules", "link", "options", "checks", "evening"]
"""A text that can be shown over the race."""


class PlayMove(NamedTuple):
    """Send a move from the current position."""

    move: str


class RaceAgain(NamedTuple):
    """Join the rematch, or another race like this one if the user has no seat in it."""

    game: str | None = None
    """The slug of another game."""
    ghosts: bool = False
    """Whether to race alone on the same deal, with the racers as ghosts, instead."""


class Ask(NamedTuple):
    """Ask a question. If the answer is yes, do the step."""

    question: str
    then: "Run"


class Choose(NamedTuple):
    """Let the player choose one of several options, and do its step."""

    title: str
    options: "Mapping[str, Run]"


Command = (
    PlayMove
    | m.Request
    | RaceAgain
    | Text
    | Ask
    | Choose
    | Literal["copy-link", "copy-result", "type", "practise", "open-replay", "open-line", "hint", "verdict", "quit"]
)
"""What the app does: it sends a request, whose id it chooses; "quit" keeps the seat, "type" opens the move line."""
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
    notice = None if selection.picks else state.notice
    if numbers := [*selection.numbers]:
        notice = Notice(f"How many cards? {numbers[0]} to {numbers[-1]}, or the same key again for all of them.", "")
    return replace(state, picks=selection.picks, notice=notice), None

"""Keys and mouse clicks in the full screen of a race: each returns the next state and possibly a command."""

from dataclasses import replace
from typing import Final, Literal

from samedeal_cli.state.race_actions import PLAYING, action_of
from samedeal_cli.state.race_commands import Step, apply_selection, play
from samedeal_cli.state.race_state import Notice, RaceState
from samedeal_cli.state.selection import LETTERS

MAX_QUEUED_KEYS: Final = 3
QUEUED: Final = ("space", "backspace")
"""The keys that wait for the answer to a move."""
Button = Literal["left", "double", "right"]


def on_key(state: RaceState, key: str) -> Step:
    """Handle a key: the character that it types, or a name such as ``enter`` or ``shift+tab``."""
    action = action_of(state, key)
    if state.can_play and state.pending is not None and (not action or action in PLAYING):
        if key in QUEUED and len(state.queued_keys) < MAX_QUEUED_KEYS:
            return replace(state, queued_keys=(*state.queued_keys, key)), None
        return state, None
    if action:
        return action.run(state)
    return _on_pile_key(state, key) if state.fits and state.can_play else (state, None)


def on_click(state: RaceState, spot: str, button: Button = "left") -> Step:
    """Handle a click on a named spot: a key, a racer, or a place of the table."""
    if spot.startswith("key:"):
        return on_key(state, spot.removeprefix("key:"))
    if spot.startswith("seat:"):
        seat = int(spot.removeprefix("seat:"))
        return replace(state, watched_seat=None if seat in (state.watched_seat, state.seat) else seat), None
    if not _accepts_mouse(state) or spot not in state.selection.places:
        return state, None
    state = replace(state, cursor=None)
    selection = state.selection
    if button == "right":
        selected, move = (selection, None) if selection.picks else selection.pick(spot)
        return apply_selection(state, *((selected, move) if move else selected.drop()))
    if button == "double" and spot not in selection.hidden:
        # If the first click has already played the pile's only move, the second one does nothing.
        return _send_home(state, spot) if spot in selection.picks else (state, None)
    return _pick(state, spot)


def on_drag(state: RaceState, source: str, target: str) -> Step:
    """Handle a drag from one place of the table to another."""
    if not _accepts_mouse(state):
        return state, None
    state = replace(state, cursor=None, picks=())
    selection = state.selection
    choices = [selection.parse(move) for move in selection.moves]
    for places in ((source, target), (source,), (target,)):
        for choice in choices:
            if choice.places == places and not choice.is_group:
                return play(state, choice.move)
    if source in selection.hidden and selection.stock_move:
        return play(state, selection.stock_move)
    selected, move = replace(selection, auto_drop=False).pick(source)
    return apply_selection(state, *(selected.pick(target) if selected.picks else (selected, move)))


def _accepts_mouse(state: RaceState) -> bool:
    return state.fits and state.can_play and state.pending is None


def _on_pile_key(state: RaceState, key: str) -> Step:
    selection = state.selection
    if key in LETTERS and (place := selection.place_of(key)):
        return _pick(state, place)
    if (lower := key.lower()) in LETTERS and key != lower:
        place = selection.without_picks().place_of(lower)
        return _send_home(state, place) if place else (state, None)
    return state, None


def _pick(state: RaceState, place: str) -> Step:
    selection = state.selection
    selected, move = selection.pick(place)
    if not move and not selected.picks and not selection.picks:
        return replace(state, notice=Notice(f"Nothing on {place} can be played now.", "")), None
    return apply_selection(state, selected, move)


def _send_home(state: RaceState, place: str) -> Step:
    move = state.selection.home_move(place)
    if move:
        return play(state, move)
    return replace(state, picks=(), notice=Notice(f"The card on {place} cannot go home now.", "")), None

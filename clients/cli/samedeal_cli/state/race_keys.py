"""Keys and mouse clicks in the full screen of a race: each returns the next state and possibly a command."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Literal, get_args

from samedeal_cli.render.phrases import counted
from samedeal_cli.state.actions import key_name
from samedeal_cli.state.race_actions import PLAYING, action_of, key_meant
from samedeal_cli.state.race_commands import Command, Step, apply_selection, play
from samedeal_cli.state.race_state import Notice, QueuedKey, RaceState
from samedeal_cli.state.selection import UNKNOWN, Direction

MAX_QUEUED_KEYS: Final = 8
HINT: Final = "Each pile has the key beside its name; ? shows all other keys."
"""Shown after a second unknown key."""
Button = Literal["left", "double", "right"]


def on_key(state: RaceState, key: str, now: float = 0) -> Step:
    """Handle a key: the character that it types, or a name such as ``enter`` or ``shift+tab``.

    `now` is a monotonic time (s).
    """
    key = key_meant(state, key)
    action = action_of(state, key)
    if state.named:
        state = replace(state, named=False)
    waits = not action or (action in PLAYING and key not in get_args(Direction))
    if state.can_play and state.pending is not None and waits:
        return _queue(state, key), None
    if action:
        return action.run(state)
    if not state.fits:
        return state, None
    if not state.is_playing:
        return replace(state, notice=Notice(f"{key_name(key)}{UNKNOWN} ? shows all keys.", "")), None
    if not state.can_play:
        return replace(state, notice=Notice("Esc returns to your table.", "")), None
    selected, move, message = state.selection.press(key, now)
    if message:
        if UNKNOWN in message and state.notice and UNKNOWN in state.notice.text:
            message = f"{message} {HINT}"
        return replace(state, played=selected.played, notice=Notice(message, "")), None
    after, command = apply_selection(state, selected, move)
    return replace(after, played=selected.played), command


def _queue(state: RaceState, key: str) -> RaceState:
    """Queue a key until the pending move is answered. Esc discards the queue."""
    if key == "escape":
        return replace(state, queued_keys=())
    if len(state.queued_keys) == MAX_QUEUED_KEYS:
        return replace(state, notice=Notice(f"{MAX_QUEUED_KEYS} keys are waiting: {key_name(key)} was dropped."))
    return replace(state, queued_keys=(*state.queued_keys, QueuedKey(key, _aim(state, key, waiting=state.queued_keys))))


def _aim(state: RaceState, key: str, waiting: Sequence[QueuedKey] = ()) -> tuple[str, str] | None:
    """Return the pile on the screen that a key acts on, and its top card or, if it is empty, the card in hand.

    Where a key alone plays a card, the pending move and the `waiting` keys leave the one below to a fanned pile's key.
    """
    table, selection = state.predicted[0], state.possible
    places = {"enter": state.cursor, "space": selection.stock or None}
    place = places.get(key) or selection.place_of(key)
    if place is None or place not in table:
        return None
    ahead = 0
    if state.game and place in state.game.fanned and not selection.names_targets:
        ahead = (state.pending == place) + sum(key.aim is not None and key.aim[0] == place for key in waiting)
    pile = table[place][: max(0, len(table[place]) - ahead)]
    hand = () if place == selection.stock else table.get("hand", ())
    return place, next((cards[-1] for cards in (pile, hand) if cards), "")


def handle_queued_key(state: RaceState) -> Step:
    """Handle the queued keys up to the next move. Call this after every message of the server.

    They count as pressed at the time of the pending move, and wait for its answer. A key acts only on the card that it
    was aimed at: if that has gone, the key and those behind it are dropped.
    """
    command: Command | None = None
    while state.queued_keys and state.can_play and state.pending is None and command is None:
        (key, aim), *others = state.queued_keys
        if aim != _aim(state, key) and not state.selection.ignores(key, 0):
            break
        state, command = on_key(replace(state, queued_keys=tuple(others)), key)
    if state.pending is not None or not state.queued_keys:
        return state, command
    why = "" if command else "The cards have changed. "  # a question is on the screen
    number = len(state.queued_keys)
    notice = Notice(f"{why}{counted(number, 'queued key')} {'was' if number == 1 else 'were'} dropped.")
    return replace(state, queued_keys=(), picks=(), notice=notice if state.can_play else state.notice), command


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
    if button == "double" and spot != selection.stock:
        if spot not in selection.picks:  # the first click has already played the pile's only move
            return state, None
        if move := selection.home_move(spot):
            return play(state, move)
        return replace(state, picks=(), notice=Notice(f"The card on {spot} cannot go home now.", "")), None
    selected, move = selection.pick(spot)
    if not move and not selected.picks and not selection.picks:
        return replace(state, notice=Notice(f"Nothing on {spot} can be played now.", "")), None
    return apply_selection(state, selected, move)


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
    selected, move = replace(selection, auto_drop=False).pick(source)
    return apply_selection(state, *(selected.pick(target) if selected.picks else (selected, move)))


def _accepts_mouse(state: RaceState) -> bool:
    return state.fits and state.can_play and state.pending is None

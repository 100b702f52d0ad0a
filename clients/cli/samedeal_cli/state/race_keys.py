"""Keys and mouse clicks in the full screen of a race: each returns the next state and possibly a command."""

from dataclasses import dataclass, replace
from typing import Final, Literal, get_args

from samedeal.games.catalogue import GAMES
from samedeal.race.run import RESTART, UNDO
from samedeal.race.server_bots import Level
from samedeal.wire.messages import ReactionName
from samedeal_cli.full_screen.overlays import FRAME, overlay_lines
from samedeal_cli.settings import Cards, Theme
from samedeal_cli.state.race_state import QUESTIONS, Notice, RaceState
from samedeal_cli.state.selection import Selection

GAME_KEYS: Final = {str(number): slug for number, slug in enumerate(GAMES, start=1)}
"""The keys with which another game is chosen for a rematch."""
REACTION_KEYS: Final[dict[str, ReactionName]] = dict(zip("123456", get_args(ReactionName), strict=True))
"""The keys that send a reaction, after m."""
BOT_KEYS: Final[dict[str, Level | None]] = {"b": None, **dict(zip("123", get_args(Level), strict=True))}
"""The keys that add a server bot in the lobby: the next one, or that of a level."""
COMMAND_KEYS: Final = {
    "f1": "?",
    "ctrl+q": "q",
    "ctrl+g": "i",
    "ctrl+l": "Q",
    "ctrl+o": "4",
    "ctrl+t": "c",
    "ctrl+k": "x",
    "ctrl+e": "m",
    "ctrl+b": "z",
}
"""The keys of commands while letters and digits are keys of piles, and the same keys outside a game."""
MAX_QUEUED_KEYS: Final = 8
MAX_INPUT: Final = 64
THEMES: Final[tuple[Theme, ...]] = ("terminal", "dark", "light", "contrast")
CARDS: Final[tuple[Cards, ...]] = ("auto", "compact", "boxed")
Button = Literal["left", "double", "right"]


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


Command = (
    PlayMove
    | RaceAgain
    | RemovePlayer
    | AddBot
    | SendReaction
    | Literal["ready", "unready", "start", "resign", "leave", "copy-link", "copy-result"]
    | Literal["open-replay", "quit", "interrupt"]
)
"""What the app does after a key or a click: "leave" gives up the seat and quits, "quit" and "interrupt" keep the
seat."""
Step = tuple[RaceState, Command | None]
"""The next state, and a command for the app to run."""


def on_key(state: RaceState, key: str, now: float = 0) -> Step:
    """Handle a key: the character that it types, or a name such as ``enter`` or ``shift+tab``.

    `now` is a monotonic time (s).
    """
    if key == "ctrl+c" or (not state.fits and key == "q"):
        return state, "interrupt" if key == "ctrl+c" else "quit"
    if not state.fits:
        return state, None
    if state.overlay in QUESTIONS:
        return _answer_question(state, key)
    if state.overlay == "games" and key in GAME_KEYS:
        return _race_again(replace(state, overlay=""), RaceAgain(GAME_KEYS[key]))
    if state.overlay == "reactions":
        return _on_reaction_key(replace(state, overlay=""), key)
    if state.overlay:
        return _scroll_overlay(state, key)
    if state.input is not None:
        return _edit_input(state, key, state.input)
    is_pile_key = state.is_playing and len(key) == 1 and key not in "/?!"
    step = None if is_pile_key else _on_common_key(state, COMMAND_KEYS.get(key, key))
    if step:
        return step
    if state.stage == "open":
        return _on_lobby_key(state, key)
    if state.over:
        return _on_results_key(state, key)
    if state.stage == "running":
        return _on_table_key(state, key, now)
    return state, None


def on_click(state: RaceState, spot: str, button: Button = "left") -> Step:
    """Handle a click on a named spot: a key of the footer, a racer, or a place of the table."""
    if spot.startswith("key:"):
        return on_key(state, spot.removeprefix("key:"))
    if spot.startswith("seat:") and not state.overlay:
        seat = int(spot.removeprefix("seat:"))
        return replace(state, watched_seat=None if seat in (state.watched_seat, state.seat) else seat), None
    if not _accepts_mouse(state) or spot not in state.selection.places:
        return state, None
    state = replace(state, input=None, cursor=None)
    selection = state.selection
    if button == "right":
        selected, move = (selection, None) if selection.picks else selection.pick(spot)
        return _apply_selection(state, *((selected, move) if move else selected.drop()))
    if button == "double" and spot not in selection.hidden:
        # If the first click has already played the pile's only move, the second one does nothing.
        return _send_home(state, spot) if spot in selection.picks else (state, None)
    return _pick(state, spot)


def on_drag(state: RaceState, source: str, target: str) -> Step:
    """Handle a drag from one place of the table to another."""
    if not _accepts_mouse(state):
        return state, None
    state = replace(state, input=None, cursor=None, picks=())
    selection = state.selection
    choices = [selection.parse(move) for move in selection.moves]
    for places in ((source, target), (source,), (target,)):
        for choice in choices:
            if choice.places == places and not choice.is_group:
                return _play(state, choice.move)
    if source in selection.hidden and selection.stock_move:
        return _play(state, selection.stock_move)
    selected, move = replace(selection, auto_drop=False).pick(source)
    return _apply_selection(state, *(selected.pick(target) if selected.picks else (selected, move)))


def _accepts_mouse(state: RaceState) -> bool:
    return not state.overlay and state.fits and state.can_play and state.pending is None


# Keys.


def _on_common_key(state: RaceState, key: str) -> Step | None:
    match key:
        case "q":
            return state, "quit"
        case "?":
            return replace(state, overlay="help", scroll=0), None
        case "i" if state.game:
            return replace(state, overlay="rules", scroll=0), None
        case "Q":
            return replace(state, overlay="link", scroll=0), None
        case "y":
            return state, "copy-link"
        case "4":
            return replace(state, suits="two" if state.suits == "four" else "four"), None
        case "c":
            theme = THEMES[(THEMES.index(state.theme) + 1) % len(THEMES)]
            return replace(state, theme=theme, notice=Notice(f"Theme: {theme}")), None
        case "x":
            cards = CARDS[(CARDS.index(state.cards) + 1) % len(CARDS)]
            return replace(state, cards=cards, notice=Notice(f"Cards: {cards}")), None
        case "m":
            return replace(state, overlay="reactions"), None
        case "z":
            return replace(state, rivals_hidden=not state.rivals_hidden), None
        case "tab" | "shift+tab":
            return _watch_next(state, -1 if key == "shift+tab" else 1), None
    return None


def _on_reaction_key(state: RaceState, key: str) -> Step:
    """Send a reaction, or with 0 hide or show those of all racers; every other key cancels."""
    if key in REACTION_KEYS and state.me:
        return state, SendReaction(REACTION_KEYS[key])
    if key == "0":
        shown = not state.reactions
        return replace(state, reactions=shown, notice=Notice(f"Reactions: {'shown' if shown else 'hidden'}")), None
    return state, None


def _on_lobby_key(state: RaceState, key: str) -> Step:
    if key == "r" and state.me:
        return state, "unready" if state.me.outcome == "ready" else "ready"
    if key == "s" and state.is_host and state.others:
        return state, "start"
    if key in BOT_KEYS and state.may_add_bot:
        return state, AddBot(BOT_KEYS[key])
    if key == "d" and state.is_host and state.others:
        waiting = (standing for standing in state.others if standing.outcome != "ready")
        return replace(state, overlay="remove", removed_seat=next(waiting, state.others[0]).seat), None
    if key == "!" and state.me:
        return replace(state, overlay="leave"), None
    return _show_evening(state) if key == "e" else (state, None)


def _on_results_key(state: RaceState, key: str) -> Step:
    match key:
        case "n" | "N" if state.header:
            return _race_again(state, RaceAgain(ready=key == "N"))
        case "g" if state.stage == "over" and not state.rematch:
            return replace(state, overlay="games", scroll=0), None
        case "v" if state.stage == "over":
            return state, "open-replay"
        case "s" if state.stage == "over":
            return state, "copy-result"
        case "e":
            return _show_evening(state)
        case "f" if state.checks:
            return replace(state, overlay="checks", scroll=0), None
    return state, None


def _show_evening(state: RaceState) -> Step:
    return replace(state, overlay="evening", scroll=0), None


def _race_again(state: RaceState, command: RaceAgain) -> Step:
    return replace(state, notice=Notice("Joining…" if state.rematch else "Opening another race…")), command


def _on_table_key(state: RaceState, key: str, now: float) -> Step:
    if not state.can_play:
        if state.is_playing and key in ("escape", "backspace"):
            return replace(state, watched_seat=None), None
        return _with_notice(state, "Esc returns to your table.") if state.is_playing else state, None
    if state.pending is not None:
        queued = state.queued_keys if key == "escape" else (*state.queued_keys, key)[:MAX_QUEUED_KEYS]
        return replace(state, queued_keys=() if key == "escape" else queued), None
    selection = state.selection
    match key:
        case "backspace" if not state.picks:
            return _play(state, UNDO)
        case "space" if selection.stock_move:
            return _play(state, selection.stock_move)
        case "space":
            return _with_notice(state, "The stock has no move now."), None
        case "/":
            return replace(state, input="", completed_prefix=None, history_index=0), None
        case "!":
            return replace(state, overlay="resign"), None
        case "ctrl+r":
            return replace(state, overlay="restart"), None
        case "escape" | "backspace":
            return replace(state, picks=(), cursor=state.cursor if state.picks else None, notice=None), None
        case "enter":
            return _apply_selection(state, *selection.enter())
        case "left" | "right" | "up" | "down":
            return replace(state, cursor=selection.move_cursor(key).cursor), None
    selected, move, message = selection.press(key, now)
    after, command = (_with_notice(state, message), None) if message else _apply_selection(state, selected, move)
    return replace(after, played=selected.played), command


def _watch_next(state: RaceState, step: int) -> RaceState:
    """Watch the next racer. After the last one, racers return to their own table."""
    others = [standing.seat for standing in state.standings if standing.seat != state.seat]
    ring: list[int | None] = [None, *others] if state.seat is not None or not others else [*others]
    index = ring.index(state.watched_seat) if state.watched_seat in ring else 0 if state.seat is not None else -1
    return replace(state, watched_seat=ring[(index + step) % len(ring)], picks=())


def _answer_question(state: RaceState, key: str) -> Step:
    """Confirm with y only; every other key cancels. Tab chooses another player to remove."""
    answered = replace(state, overlay="")
    seats = [standing.seat for standing in state.others]
    if state.overlay == "remove" and (key == "tab" or state.removed_seat not in seats):
        if state.removed_seat not in seats:  # the player has left
            return answered, None
        following = seats[(seats.index(state.removed_seat) + 1) % len(seats)]
        return replace(state, removed_seat=following), None
    if key != "y":
        return answered, None
    match state.overlay:
        case "resign":
            return answered, "resign"
        case "leave":
            return answered, "leave"
        case "remove" if state.removed_seat is not None:
            return answered, RemovePlayer(state.removed_seat)
        case _:
            return _play(answered, RESTART)


def _scroll_overlay(state: RaceState, key: str) -> Step:
    page = max(1, state.height - FRAME - 1)
    steps = {"down": 1, "up": -1, "pagedown": page, "pageup": -page, "space": page}
    if key in steps:
        last = len(overlay_lines(state, state.width)) + FRAME - state.height
        return replace(state, scroll=max(0, min(last, state.scroll + steps[key]))), None
    if key == "y":
        return state, "copy-link"
    return replace(state, overlay="", scroll=0), None


def _edit_input(state: RaceState, key: str, text: str) -> Step:
    match key:
        case "escape":
            return replace(state, input=None), None
        case "backspace":
            return replace(state, input=text[:-1] if text else None, completed_prefix=None), None
        case "enter":
            closed = replace(state, input=None, history=(*state.history, text) if text else state.history)
            if text in ("resign", RESTART):
                return replace(closed, overlay="resign" if text == "resign" else "restart"), None
            return _play(closed, text) if text and state.pending is None else (closed, None)
        case "tab" | "shift+tab":
            return _complete(state, text, 1 if key == "tab" else -1), None
        case "up" | "down":
            index = min(len(state.history), max(0, state.history_index + (1 if key == "up" else -1)))
            recalled = state.history[-index] if index else ""
            return replace(state, input=recalled, history_index=index, completed_prefix=None), None
    if len(key) == 1 and key.isprintable() and key != " ":
        return replace(state, input=(text + key.lower())[:MAX_INPUT], completed_prefix=None), None
    return state, None


def _complete(state: RaceState, text: str, step: int) -> RaceState:
    completions = state.completions
    if not completions:
        return state
    index = completions.index(text) + step if text in completions else 0
    prefix = state.completed_prefix if state.completed_prefix is not None else text
    return replace(state, input=completions[index % len(completions)], completed_prefix=prefix)


# Moves.


def _pick(state: RaceState, place: str) -> Step:
    selection = state.selection
    selected, move = selection.pick(place)
    if not move and not selected.picks and not selection.picks:
        return _with_notice(state, f"Nothing on {place} can be played now."), None
    return _apply_selection(state, selected, move)


def _send_home(state: RaceState, place: str) -> Step:
    move = state.selection.home_move(place)
    if move:
        return _play(state, move)
    return _with_notice(replace(state, picks=()), f"The card on {place} cannot go home now."), None


def _apply_selection(state: RaceState, selection: Selection, move: str | None) -> Step:
    if move:
        return _play(state, move)
    return replace(state, picks=selection.picks, notice=None if selection.picks else state.notice), None


def _play(state: RaceState, move: str) -> Step:
    return replace(state, picks=(), played=None, pending=move, notice=None), PlayMove(move)


def _with_notice(state: RaceState, text: str) -> RaceState:
    return replace(state, notice=Notice(text, ""))

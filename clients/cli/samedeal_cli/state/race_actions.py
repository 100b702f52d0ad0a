"""The actions of the full screen of a race: their keys, what they do, and when they work.

The footer, the command palette and the help are made from these lists.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any, Final, get_args

from samedeal.games.catalogue import GAMES
from samedeal.race.run import RESTART, UNDO
from samedeal.race.server_bots import Level
from samedeal.wire import messages as m
from samedeal.wire.messages import ReactionName
from samedeal_cli.render.phrases import quit_phrase, reaction_phrase
from samedeal_cli.render.rules import notation
from samedeal_cli.settings import Cards, Theme
from samedeal_cli.state import actions, pile_keys
from samedeal_cli.state.race_commands import Ask, Choose, Command, RaceAgain, Run, Step, apply_selection, play
from samedeal_cli.state.race_state import Notice, RaceState
from samedeal_cli.state.selection import HOME, Direction

ROOM_TO_EXPLAIN: Final = 72
"""The minimum width for what quitting does in the footer."""

HEAD_STARTS_S: Final = (0, 5, 10, 20, 30, 60, 120)
MINUTES: Final = (1, 2, 3, 5, 10, 15, 30)
"""The time limits that the host can choose in the lobby."""

Action = actions.Action[RaceState, Step]


def _does(command: Command) -> Run:
    return lambda state: (state, command)


def _sets(**fields: Any) -> Run:
    return lambda state: (replace(state, **fields), None)


def _sets_one(title: str, field: str, values: tuple[str, ...]) -> Run:
    return _does(Choose(title, {value: _sets(**{field: value}) for value in values}))


def _toggles(field: str, first: Any, second: Any) -> Run:
    return lambda state: _sets(**{field: second if getattr(state, field) == first else first})(state)


def _chooses(title: str, options: Mapping[str, Run]) -> Run:
    return _does(Choose(title, options))


def _changes(game: str | None = None, **options: int | float | bool | str) -> Run:
    return _does(m.Again(id=0, game=game, options=options))


def _use_stock(state: RaceState) -> Step:
    move = state.possible.stock_move or next(iter(_words(state)), None)
    return play(state, move) if move else (replace(state, notice=Notice("This game has no stock.", "")), None)


def _words(state: RaceState) -> Sequence[str]:
    """Return the words that are moves of the game, if it is known. The refusal of one that is not legal says why."""
    game = GAMES.get(state.game.slug) if state.game else None
    moves = notation(game).split() if game else ()
    return [word for word in ("redeal", "draw", "deal", HOME) if word in moves]


def _undo(state: RaceState) -> Step:
    return _cancel(state) if state.picks else play(state, UNDO)


def _cancel(state: RaceState) -> Step:
    return replace(state, picks=(), cursor=state.cursor if state.picks else None, notice=None), None


def _enter(state: RaceState) -> Step:
    return apply_selection(state, *state.selection.enter())


def _moves_cursor(key: Direction) -> Run:
    return lambda state: (replace(state, cursor=state.selection.move_cursor(key).cursor), None)


def _type(state: RaceState) -> Step:
    return replace(state, named=True), "type"


def _ask_to_end(state: RaceState) -> Step:
    return state, Ask(f"{state.end_verb.capitalize()}? Your best attempt counts.", _does(m.Resign(id=0)))


def _watch(step: int) -> Run:
    """Watch the next racer. After the last one, racers return to their own table."""

    def run(state: RaceState) -> Step:
        own = [None] if state.seat is not None else []
        ring = [*own, *(standing.seat for standing in state.others)]
        index = ring.index(state.watched_seat) if state.watched_seat in ring else len(own) - 1
        return replace(state, watched_seat=ring[(index + step) % len(ring)], picks=()), None

    return run


def _change_readiness(state: RaceState) -> Step:
    return state, m.Ready(id=0, ready=state.me is None or state.me.outcome != "ready")


def _race_again(game: str | None = None, *, ghosts: bool = False) -> Run:
    def run(state: RaceState) -> Step:
        opening = "Opening a race against the ghosts…" if ghosts else "Opening another race…"
        text = "Joining…" if state.rematch and not ghosts else opening
        return replace(state, notice=Notice(text)), RaceAgain(game, ghosts)

    return run


def _choose_player(state: RaceState) -> Step:
    waiting_first = sorted(state.others, key=lambda standing: standing.outcome == "ready")
    return state, Choose("Which player?", {each.name: _does(m.Remove(id=0, seat=each.seat)) for each in waiting_first})


def _choose_head_start(state: RaceState) -> Step:
    def ahead(seat: int) -> Run:
        times = {f"{each} s" if each else "none": m.HeadStartFor(seat=seat, ms=1_000 * each) for each in HEAD_STARTS_S}
        return _chooses("How long?", {name: _does(m.Again(id=0, head_start=each)) for name, each in times.items()})

    return state, Choose("Who gets a head start?", {each.name: ahead(each.seat) for each in state.standings})


def _choose_reaction(state: RaceState) -> Step:
    shown = not state.reactions
    toggle = _sets(reactions=shown, notice=Notice(f"Reactions: {'shown' if shown else 'hidden'}"))
    names: tuple[ReactionName, ...] = get_args(ReactionName) if state.me else ()
    options = {reaction_phrase(name): _does(m.React(id=0, reaction=name)) for name in names}
    return state, Choose("Reactions", {**options, f"{'show' if shown else 'hide'} reactions": toggle})


def _is_awaited(state: RaceState) -> bool:
    return state.me is not None and state.me.outcome != "ready"


def _is_host(state: RaceState) -> bool:
    return state.is_host and bool(state.others)


def _may_change(state: RaceState) -> bool:
    return state.is_host and not state.is_heat


def _is_over(state: RaceState) -> bool:
    return state.stage == "over"


def _is_public(state: RaceState) -> bool:
    return _is_over(state) and not (state.is_heat and state.is_sealed)


def _raced(state: RaceState) -> bool:
    return not state.practice


def _has_line(state: RaceState) -> bool:
    return state.analysis is not None and bool(state.analysis.line)


def _may_choose_game(state: RaceState) -> bool:
    return _is_over(state) and state.may_rematch and not state.rematch


def _is_watching_another(state: RaceState) -> bool:
    return state.is_playing and not state.can_play and state.watched_seat not in (None, state.seat)


def _enter_label(state: RaceState) -> str:
    return "best drop" if state.picks else "pick up" if state.cursor else ""


def _home_label(state: RaceState) -> str:
    return HOME if state.selection.stock and HOME in state.possible.words else ""  # without a stock, Space shows it


def _undo_label(state: RaceState) -> str:
    return "undo" if state.board and state.board.undo and not state.picks else ""


def _restart_label(state: RaceState) -> str:
    return "restart" if state.board and state.board.restart else ""


def _ready_label(state: RaceState) -> str:
    return "not ready" if state.me and state.me.outcome == "ready" else "ready"


def _quit_label(state: RaceState) -> str:
    if state.seat is None or state.over or state.is_playing or state.width < ROOM_TO_EXPLAIN:
        return "quit"
    return quit_phrase(state.stage, state.away_s)


def _restart(state: RaceState) -> Step:
    may_restart = state.board and state.board.restart  # if not, the refusal says why
    return (state, ASK_TO_RESTART) if may_restart and not state.practice else play(state, RESTART)


ASK_TO_RESTART: Final = Ask("Restart this deal? The clock keeps running.", lambda state: play(state, RESTART))
ASK_TO_LEAVE: Final = Ask("Give up your seat and quit?", _does(m.Leave(id=0)))
CHOOSE_BOT: Final = Choose(
    "Which bot?", {"any": _does(m.Bot(id=0)), **{level: _does(m.Bot(id=0, level=level)) for level in get_args(Level)}}
)
CHANGES: Final = Choose(
    "Change what?",
    {
        "game": _chooses("Which game?", {game.title: _changes(slug) for slug, game in GAMES.items()}),
        "time limit": _chooses("Time limit", {f"{each} min": _changes(limit_ms=each * 60_000) for each in MINUTES}),
        "match": _chooses("Match", {f"best of {each}": _changes(best_of=each) for each in (1, 3, 5, 7)}),
        "head start": _choose_head_start,
        "undo": _chooses("Undo", {"on": _changes(undo=True), "off": _changes(undo=False)}),
    },
)
"""What the host can change before the countdown. This opens another race, which everybody enters."""
CHOOSE_GAME: Final = Choose("Which game?", {game.title: _race_again(slug) for slug, game in GAMES.items()})
HOME_HELP: Final = "send all cards home that can safely go there"
QUIT: Final = "quit; your seat is reserved and the clock keeps running (in the lobby, it is held briefly)"
PLAYING: Final = (
    Action("space", lambda state: state.possible.stock_move or "", "use the stock: draw, deal or redeal", _use_stock),
    Action("+", _home_label, HOME_HELP, lambda state: play(state, HOME), lambda state: HOME in _words(state)),
    Action("enter", _enter_label, "drop the card on the best pile; with the cursor, pick up or drop", _enter),
    Action("backspace", _undo_label, "undo; with a card picked, put it down", _undo),
    Action("escape", lambda state: "put down" if state.picks else "", "put the card down", _cancel, minor=True),
    Action("/", "type", "type a move: Tab completes it, ↑ recalls earlier ones", _type, minor=True),
    Action("ctrl+r", _restart_label, "restart the deal (asks first)", _restart, minor=True),
    Action("!", attrgetter("end_verb"), "resign, or finish what is over (asks first)", _ask_to_end, _raced, minor=True),
    *(Action(key, "", "", _moves_cursor(key)) for key in get_args(Direction)),
)
"""The actions while your own table is on the screen."""
ADVICE: Final = (
    Action(".", "hint", "show a move to make, and why", _does("hint")),
    Action(":", "mistake?", "say whether the last move was a mistake", _does("verdict")),
    Action("!", "leave", "end practice", _does("quit"), minor=True),
)
RUNNING: Final = (
    Action("escape backspace", "back", "return to your table", _sets(watched_seat=None), _is_watching_another),
    Action("tab", "watch", "watch the next racer, or their table", _watch(1), attrgetter("others"), minor=True),
    Action("shift+tab", "", "watch the previous racer", _watch(-1), attrgetter("others")),
    Action("ctrl+b", "", "hide or show your rivals", _toggles("rivals_hidden", False, True)),
)
LOBBY: Final = (
    Action("r", _ready_label, "be ready, or not ready", _change_readiness, attrgetter("me")),
    Action("enter", "", "be ready", _change_readiness, _is_awaited),
    Action("b", "add bot", "add a server bot", _does(CHOOSE_BOT), attrgetter("may_add_bot"), minor=True),
    Action(
        "p",
        "practise",
        "practise on another deal until the race starts",
        _does("practise"),
        attrgetter("game"),
        minor=True,
    ),
    Action("s", "start now", "as the host, start with those who are ready", _does(m.Start(id=0)), _is_host),
    Action("c", "change", "as the host, change the game or its options", _does(CHANGES), _may_change, minor=True),
    Action("d", "remove", "as the host, remove a player", _choose_player, _is_host, minor=True),
    Action("o", "options", "show all options of the race", _does("options"), attrgetter("header"), minor=True),
    Action("e", "", "show the scores of the evening, and your own", _does("evening")),
    Action("!", "leave", "give up your seat and quit (asks first)", _does(ASK_TO_LEAVE), attrgetter("me"), minor=True),
)
RESULTS: Final = (
    Action("n", "", "ask for a rematch, or join it, and be ready", _race_again(), attrgetter("may_go_on")),
    Action("s", "copy result", "copy the result, to share it", _does("copy-result"), _is_public),
    Action("v", "replay", "watch the replay", _does("open-replay"), _is_public),
    Action("w", "solution", "watch how the deal could be solved", _does("open-line"), _has_line, minor=True),
    Action("g", "other game", "ask for a rematch with another game", _does(CHOOSE_GAME), _may_choose_game, minor=True),
    Action("e", "scores", "show the scores of the evening, and your own", _does("evening"), minor=True),
    Action("f", "checks", "show the checks of the replay", _does("checks"), attrgetter("checks"), minor=True),
    Action("r", "react", "send a reaction, or hide reactions", _choose_reaction, _is_over, minor=True),
    Action(
        "h",
        "ghosts",
        "race the same deal against its ghosts",
        _race_again(ghosts=True),
        attrgetter("has_ghosts"),
        minor=True,
    ),
)
LETTERS_FREE: Final = (
    Action("y", "copy link", "copy the link of the race", _does("copy-link"), minor=True),
    Action("i", "rules", "show the rules of the game", _does("rules"), attrgetter("game"), minor=True),
    Action("q", _quit_label, QUIT, _does("quit")),
)
"""The actions whose letters belong to piles while you play."""
ALWAYS: Final = (
    Action("? f1", "help", "show all keys", _does("help")),
    Action("ctrl+g", "", "show the rules of the game", _does("rules"), attrgetter("game")),
    Action("ctrl+l", "", "show the link of the race, also as a QR code", _does("link"), attrgetter("link")),
    Action("ctrl+e", "", "send a reaction, or hide reactions", _choose_reaction, attrgetter("link")),
    Action("ctrl+d", "", "hide or show the clock", _toggles("clock", True, False)),
    Action("ctrl+t", "", "choose the theme", _sets_one("Theme", "theme", get_args(Theme))),
    Action("ctrl+k", "", "choose the size of the cards", _sets_one("Cards", "cards", get_args(Cards))),
    Action("ctrl+o", "", "use two or four suit colours", _toggles("suits", "four", "two")),
    Action("ctrl+q", lambda state: _quit_label(state) if state.is_playing else "", QUIT, _does("quit")),
)
SECTIONS: Final[tuple[tuple[str, Callable[[RaceState], bool], tuple[Action, ...]], ...]] = (
    ("Playing", attrgetter("can_play"), PLAYING),
    ("In practice", attrgetter("practice"), ADVICE),
    ("Lobby", lambda state: state.stage == "open", LOBBY),
    ("After the race", attrgetter("over"), RESULTS),
    ("Unless you are playing", lambda state: not state.is_playing, LETTERS_FREE),
    ("Always", lambda state: True, ALWAYS),
    ("Rivals", lambda state: state.stage == "running" and not state.practice, RUNNING),
)
"""Each section of the help: its title, when its actions work, and the actions."""


def working_actions(state: RaceState) -> Iterator[Action]:
    """Yield the actions that work now, in the order of the footer."""
    if not state.fits:
        yield from (action for action in LETTERS_FREE if "q" in action.keys)
        return
    for _, works, section in SECTIONS:
        if works(state):
            yield from (action for action in section if action.works(state))


def action_of(state: RaceState, key: str) -> Action | None:
    """Return the action of a key, if it has one now."""
    return next((action for action in working_actions(state) if key in action.keys.split()), None)


def key_meant(state: RaceState, key: str) -> str:
    """Return the key that works now and that a key stands for on another keyboard or with Caps Lock."""
    known = {name for action in working_actions(state) for name in action.keys.split()}
    return pile_keys.key_meant(key, known | {*state.selection.keys.values()})

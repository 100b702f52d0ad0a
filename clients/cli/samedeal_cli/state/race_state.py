"""The scene: all that a full screen of one race depends on, and what keys, clicks and news make of it.

Nothing here waits, draws or sends: a key answers with the next scene and perhaps a command for whoever runs the screen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Literal, NamedTuple

from samedeal.race.events import Header
from samedeal.race.race import Stage
from samedeal.race.run import RESTART, UNDO
from samedeal.race.seat import Standing
from samedeal.wire.messages import Board, View
from samedeal_cli.commands.mode import LEAST
from samedeal_cli.net.http_api import GameInfo
from samedeal_cli.race_app.overlays import FRAME, Finding, Lines, findings_lines, help_lines, link_lines, rules_text
from samedeal_cli.render.phrases import change_sentence, clock, told_apart
from samedeal_cli.render.text_table import card_text, with_cards
from samedeal_cli.settings import Cards, Suits, Theme
from samedeal_cli.state.race_news import happenings
from samedeal_cli.state.selection import LETTERS, Hand

MAX_EVENTS: Final = 200
MAX_AHEAD: Final = 3
"""How many moves of the stock may be asked for before the answer to the last one is there."""

Page = Literal["", "help", "rules", "link", "facts", "resign", "restart", "leave"]
"""What lies over the race: nothing, something to read, or a question."""
QUESTIONS: Final = ("resign", "restart", "leave")
READINGS: Final = ("help", "rules", "link", "facts")
Tone = Literal["", "good", "bad", "news"]
Press = Literal["once", "twice", "right"]


# What a key may ask for.


@dataclass(frozen=True)
class Play:
    """Make a move."""

    move: str


@dataclass(frozen=True)
class Ready:
    """Be ready, or not after all."""

    ready: bool


@dataclass(frozen=True)
class Resign:
    """Stop for good."""


@dataclass(frozen=True)
class Leave:
    """Give the seat up and go."""


@dataclass(frozen=True)
class Quit:
    """Go without giving the seat up."""

    interrupted: bool = False


@dataclass(frozen=True)
class CopyLink:
    """Send the link to the terminal's clipboard."""


@dataclass(frozen=True)
class Rematch:
    """Open another race like this one, and join it."""


@dataclass(frozen=True)
class OpenReplay:
    """Look at the race again."""


Command = Play | Ready | Resign | Leave | Quit | CopyLink | Rematch | OpenReplay


# What a scene may be told.


@dataclass(frozen=True)
class Entered:
    """The server let us in."""

    name: str
    header: Header
    game: GameInfo
    away_s: float | None = None
    """How long the seat is held before the countdown when the connection has ended, if that is known."""


@dataclass(frozen=True)
class Now:
    """How things stand."""

    view: View
    standings: tuple[Standing, ...]
    left_ms: int | None


@dataclass(frozen=True)
class Ticked:
    """Time has passed."""

    left_ms: int | None


@dataclass(frozen=True)
class Turned:
    """The server has refused what was asked, and says why."""

    why: str


@dataclass(frozen=True)
class Said:
    """Something to show that is not about a move."""

    text: str
    tone: Tone = "news"


@dataclass(frozen=True)
class Cut:
    """The connection is lost, or with an empty text is back."""

    why: str


@dataclass(frozen=True)
class Checked:
    """What the verification of the replay found, or why there is none."""

    facts: tuple[Finding, ...] = ()
    why_not: str = ""


@dataclass(frozen=True)
class ParTold:
    """What the computer made of the deal, as the own seat sees it."""

    squares: tuple[str, ...] = ()
    text: str = ""


@dataclass(frozen=True)
class Resized:
    """The terminal has another size."""

    width: int
    height: int


News = Entered | Now | Ticked | Turned | Said | Cut | Checked | ParTold | Resized


class Event(NamedTuple):
    """Something that happened, with the time since the deal if the race runs."""

    ms: int | None
    text: str


@dataclass(frozen=True)
class Scene:
    """Everything that is shown, and nothing else."""

    race: str
    server: str
    """Its address, without the scheme."""
    link: str
    watching: bool = False
    name: str = ""
    game: GameInfo | None = None
    header: Header | None = None
    away_s: float | None = None
    view: View | None = None
    standings: tuple[Standing, ...] = ()
    """With names that tell the racers apart."""
    left_ms: int | None = None

    picks: tuple[str, ...] = ()
    cursor: str | None = None
    pending: str | None = None
    """The move that the server has not answered yet."""
    ahead: tuple[str, ...] = ()
    """Keys that were pressed while a move was pending and mean the same before whatever comes."""
    typing: str | None = None
    """The move line, if it is open."""
    completing: str | None = None
    """What was typed before it was completed."""
    typed: tuple[str, ...] = ()
    """What was typed before, the newest last."""
    recalled: int = 0
    """How far back in that."""

    said: Said | None = None
    """The last answer."""
    events: tuple[Event, ...] = ()
    lost: str = ""
    page: Page = ""
    scroll: int = 0
    look: int | None = None
    """The seat that one looks at."""
    hiding: bool = False
    """Whether the rivals are hidden."""
    facts: tuple[Finding, ...] = ()
    unchecked: str = ""
    par: ParTold | None = None

    width: int = 80
    height: int = 24
    theme: Theme = "terminal"
    suits: Suits = "four"
    cards: Cards = "auto"
    auto_drop: bool = True
    ascii: bool = False

    # What follows from it.

    @property
    def stage(self) -> Stage | Literal["entering"]:
        return self.view.stage if self.view else "entering"

    @property
    def over(self) -> bool:
        return self.stage in ("over", "cancelled")

    @property
    def fits(self) -> bool:
        return self.width >= LEAST[0] and self.height >= LEAST[1]

    @property
    def seat(self) -> int | None:
        return self.view.seat if self.view else None

    @cached_property
    def me(self) -> Standing | None:
        return next((standing for standing in self.standings if standing.seat == self.seat), None)

    @property
    def elapsed_ms(self) -> int | None:
        """The time since the deal."""
        if self.stage != "running" or self.left_ms is None or self.header is None:
            return None
        return max(0, self.header.options.limit_ms - self.left_ms)

    @property
    def boards(self) -> Mapping[int, Board]:
        """All tables that can be seen, by seat."""
        if not self.view:
            return {}
        own = {self.view.seat: self.view.board} if self.view.seat is not None and self.view.board else {}
        return own | (self.view.boards or {})

    @property
    def shown(self) -> int | None:
        """The seat whose table is shown: the one looked at if it can be seen, else the own one, else the first."""
        if self.look in self.boards:
            return self.look
        return self.seat if self.seat in self.boards else next(iter(self.boards), None)

    @property
    def board(self) -> Board | None:
        """The table that is shown."""
        return self.boards.get(self.shown) if self.shown is not None else None

    @property
    def plays(self) -> bool:
        """Whether the table shown is one's own to play on."""
        return self.stage == "running" and self.shown == self.seat and self.seat is not None and not self.done

    @property
    def done(self) -> bool:
        """Whether one has stopped for good."""
        return self.me is not None and self.me.done

    @cached_property
    def hand(self) -> Hand:
        """The hand before the table as it is now; empty where nothing can be played, and while a move is pending."""
        return self._hand(self.board if self.plays and self.pending is None else None)

    @property
    def word(self) -> str | None:
        """What the stock does, or did before the move that is pending."""
        return self._hand(self.board if self.plays else None).word

    def _hand(self, board: Board | None) -> Hand:
        game = self.game
        return Hand(
            tuple(board.moves or ()) if board else (),
            game.layout if game else "",
            frozenset(game.foundations if game else ()),
            frozenset(game.hidden if game else ()),
            self.auto_drop,
            self.picks,
            self.cursor,
        )

    @property
    def completions(self) -> tuple[str, ...]:
        """The moves that go on as what is typed does."""
        text = self.completing if self.completing is not None else self.typing or ""
        moves = (*(self.board.moves or () if self.board and self.plays else ()), UNDO, RESTART)
        return tuple(move for move in moves if move.startswith(text))

    @cached_property
    def foreseen(self) -> tuple[Mapping[str, Sequence[str]], frozenset[str]]:
        """The piles as they are shown, and where that is only what one expects of the pending move."""
        if not self.board:
            return {}, frozenset()
        table = self.board.table
        if not self.pending or not self.plays:
            return table, frozenset()
        choice = self.hand.placed(self.pending)
        if choice.carries and table[choice.places[0]]:
            source, target = choice.places
            moved = {source: table[source][:-1], target: [*table[target], table[source][-1]]}
            return {**table, **moved}, frozenset(choice.places)
        return table, frozenset(choice.places or (self.game.hidden if self.game else ()))

    def reading(self, width: int) -> Lines:
        """The lines of what lies over the race, on a screen of that width."""
        match self.page:
            case "help":
                return help_lines(width - 2)
            case "rules":
                return rules_text(self.game.slug if self.game else "", width - 2)
            case "link":
                return link_lines(self.link, width - 2, ascii=self.ascii)
            case "facts":
                return findings_lines(self.facts, width - 2)
            case _:
                return []


Step = tuple[Scene, Command | None]


def of_another(scene: Scene, race: str, link: str) -> Scene:
    """The scene of another race, looked at in the same way."""
    return Scene(
        race,
        scene.server,
        link,
        width=scene.width,
        height=scene.height,
        theme=scene.theme,
        suits=scene.suits,
        cards=scene.cards,
        auto_drop=scene.auto_drop,
        ascii=scene.ascii,
        hiding=scene.hiding,
        typed=scene.typed,
    )


# Keys.


def pressed(scene: Scene, key: str) -> Step:
    """What a key makes of a scene. A key is the character it writes, or a name such as ``enter`` or ``shift+tab``."""
    if key == "ctrl+c" or (not scene.fits and key == "q"):
        return scene, Quit(interrupted=key == "ctrl+c")
    if not scene.fits:
        return scene, None
    if scene.page in QUESTIONS:
        return _answered(scene, key)
    if scene.page:
        return _read(scene, key)
    if scene.typing is not None:
        return _typed(scene, key, scene.typing)
    step = _everywhere(scene, key)
    if step:
        return step
    if scene.stage == "open":
        return _in_the_lobby(scene, key)
    if scene.over:
        return _after_the_end(scene, key)
    if scene.stage == "running":
        return _at_the_table(scene, key)
    return scene, None


def _everywhere(scene: Scene, key: str) -> Step | None:
    match key:
        case "q":
            return scene, Quit()
        case "?":
            return replace(scene, page="help", scroll=0), None
        case "i" if scene.game:
            return replace(scene, page="rules", scroll=0), None
        case "Q":
            return replace(scene, page="link", scroll=0), None
        case "y":
            return scene, CopyLink()
        case "4":
            return replace(scene, suits="two" if scene.suits == "four" else "four"), None
        case "c":
            themes: tuple[Theme, ...] = ("terminal", "dark", "light", "contrast")
            theme = themes[(themes.index(scene.theme) + 1) % len(themes)]
            return replace(scene, theme=theme, said=Said(f"theme: {theme}")), None
        case "x":
            return replace(scene, cards="auto" if scene.cards == "compact" else "compact"), None
        case "z":
            return replace(scene, hiding=not scene.hiding), None
        case "tab" | "shift+tab":
            return _looking_round(scene, -1 if key == "shift+tab" else 1), None
    return None


def _in_the_lobby(scene: Scene, key: str) -> Step:
    if key == "r" and scene.me:
        return scene, Ready(scene.me.outcome != "ready")
    if key == "!" and scene.me:
        return replace(scene, page="leave"), None
    return scene, None


def _after_the_end(scene: Scene, key: str) -> Step:
    match key:
        case "n" if scene.header:
            return replace(scene, said=Said("opening another race …")), Rematch()
        case "v" if scene.stage == "over":
            return scene, OpenReplay()
        case "f" if scene.facts:
            return replace(scene, page="facts", scroll=0), None
    return scene, None


def _at_the_table(scene: Scene, key: str) -> Step:
    if not scene.plays:
        return _beside_the_table(scene, key)
    if scene.pending is not None:
        if key in ("space", "u") and len(scene.ahead) < MAX_AHEAD:
            return replace(scene, ahead=(*scene.ahead, key)), None
        return scene, None
    hand = scene.hand
    match key:
        case "u":
            return _played(scene, UNDO)
        case "space":
            return _played(scene, hand.word) if hand.word else (_saying(scene, "The stock does nothing now."), None)
        case "/":
            return replace(scene, typing="", completing=None, recalled=0), None
        case "!":
            return replace(scene, page="resign"), None
        case "b":
            return replace(scene, page="restart"), None
        case "escape" | "backspace":
            return replace(scene, picks=(), cursor=None if not scene.picks else scene.cursor, said=None), None
        case "enter":
            return _handled(scene, *hand.enter())
        case "left" | "right" | "up" | "down":
            return replace(scene, cursor=hand.turned(key).cursor), None
    if key in LETTERS and (place := hand.lettered(key)):
        return _picked(scene, place)
    if (lower := key.lower()) in LETTERS and key != lower:
        place = hand.empty().lettered(lower)
        return _sent_home(scene, place) if place else (scene, None)
    return scene, None


def _beside_the_table(scene: Scene, key: str) -> Step:
    if scene.seat is not None and not scene.done and scene.look != scene.seat and key in ("escape", "backspace"):
        return replace(scene, look=None), None
    return scene, None


def _looking_round(scene: Scene, step: int) -> Scene:
    """Look at the next racer; after the last one at nobody in particular."""
    others = [standing.seat for standing in scene.standings if standing.seat != scene.seat]
    ring: list[int | None] = [None, *others] if scene.seat is not None or not others else [*others]
    at = ring.index(scene.look) if scene.look in ring else 0 if scene.seat is not None else -1
    return replace(scene, look=ring[(at + step) % len(ring)], picks=())


def _answered(scene: Scene, key: str) -> Step:
    """What is for good takes a y: no other key does it by chance."""
    asked = replace(scene, page="")
    if key != "y":
        return asked, None
    match scene.page:
        case "resign":
            return asked, Resign()
        case "leave":
            return asked, Leave()
        case _:
            return _played(asked, RESTART)


def _read(scene: Scene, key: str) -> Step:
    page = max(1, scene.height - FRAME - 1)
    steps = {"down": 1, "up": -1, "pagedown": page, "pageup": -page, "space": page}
    if key in steps:
        most = len(scene.reading(scene.width)) + FRAME - scene.height
        return replace(scene, scroll=max(0, min(most, scene.scroll + steps[key]))), None
    if key == "y":
        return scene, CopyLink()
    return replace(scene, page="", scroll=0), None


def _typed(scene: Scene, key: str, text: str) -> Step:
    """A key in the move line."""
    match key:
        case "escape":
            return replace(scene, typing=None), None
        case "backspace":
            return replace(scene, typing=text[:-1] if text else None, completing=None), None
        case "enter":
            done = replace(scene, typing=None, typed=(*scene.typed, text) if text else scene.typed)
            if text in ("resign", RESTART):
                return replace(done, page="resign" if text == "resign" else "restart"), None
            return _played(done, text) if text and scene.pending is None else (done, None)
        case "tab" | "shift+tab":
            found = scene.completions
            if not found:
                return scene, None
            at = (found.index(text) + (1 if key == "tab" else -1)) if text in found else 0
            before = scene.completing if scene.completing is not None else text
            return replace(scene, typing=found[at % len(found)], completing=before), None
        case "up" | "down":
            back = min(len(scene.typed), max(0, scene.recalled + (1 if key == "up" else -1)))
            recalled = scene.typed[-back] if back else ""
            return replace(scene, typing=recalled, recalled=back, completing=None), None
    if len(key) == 1 and key.isprintable() and key != " ":
        return replace(scene, typing=(text + key.lower())[:64], completing=None), None
    return scene, None


# Clicks.


def clicked(scene: Scene, spot: str, press: Press = "once") -> Step:
    """What a click on a spot makes of a scene: a key of the footer, a racer, or a place of the table."""
    if spot.startswith("key:"):
        return pressed(scene, spot.removeprefix("key:"))
    if spot.startswith("seat:") and not scene.page:
        seat = int(spot.removeprefix("seat:"))
        return replace(scene, look=None if seat in (scene.look, scene.seat) else seat), None
    if scene.page or not scene.fits or not scene.plays or scene.pending is not None or spot not in scene.hand.places:
        return scene, None
    scene = replace(scene, typing=None, cursor=None)
    hand = scene.hand
    if press == "right":
        held, move = (hand, None) if hand.picks else hand.pick(spot)
        return _handled(scene, *((held, move) if move else held.drop()))
    if press == "twice" and spot not in hand.hidden:
        # The first of two clicks may have played the pile's only move: then the second one is for nothing else.
        return _sent_home(scene, spot) if spot in hand.picks else (scene, None)
    return _picked(scene, spot)


def dragged(scene: Scene, source: str, target: str) -> Step:
    """What it means to drag one place of the table to another."""
    if scene.page or not scene.fits or not scene.plays or scene.pending is not None:
        return scene, None
    scene = replace(scene, typing=None, cursor=None, picks=())
    hand = scene.hand
    moves = [hand.placed(move) for move in hand.moves]
    for places in ((source, target), (source,), (target,)):
        for choice in moves:
            if choice.places == places and not choice.group:
                return _played(scene, choice.move)
    if source in hand.hidden and hand.word:
        return _played(scene, hand.word)
    held, move = replace(hand, auto_drop=False).pick(source)
    return _handled(scene, *(held.pick(target) if held.picks else (held, move)))


# What both do.


def _picked(scene: Scene, place: str) -> Step:
    hand = scene.hand
    held, move = hand.pick(place)
    if not move and not held.picks and not hand.picks:
        return _saying(scene, f"Nothing on {place} can be played now."), None
    return _handled(scene, held, move)


def _sent_home(scene: Scene, place: str) -> Step:
    move = scene.hand.home(place)
    if move:
        return _played(scene, move)
    return _saying(replace(scene, picks=()), f"The card on {place} cannot go home now."), None


def _handled(scene: Scene, hand: Hand, move: str | None) -> Step:
    if move:
        return _played(scene, move)
    return replace(scene, picks=hand.picks, said=None if hand.picks else scene.said), None


def _played(scene: Scene, move: str) -> Step:
    return replace(scene, picks=(), pending=move, said=None), Play(move)


def _saying(scene: Scene, text: str) -> Scene:
    return replace(scene, said=Said(text, ""))


# News.


def told(scene: Scene, news: News) -> Scene:
    """The scene after it has been told something."""
    match news:
        case Entered(name=name, header=header, game=game, away_s=away_s):
            return replace(scene, name=name, header=header, game=game, away_s=away_s)
        case Now():
            return _stands(scene, news)
        case Ticked(left_ms=left_ms):
            return replace(scene, left_ms=left_ms)
        case Turned(why=why):
            return replace(scene, pending=None, ahead=(), picks=(), said=Said(with_cards(why), "bad"))
        case Said():
            return replace(scene, said=news)
        case Cut(why=why):
            return replace(scene, lost=why)
        case Checked(facts=facts, why_not=why_not):
            return replace(scene, facts=facts, unchecked=why_not)
        case ParTold():
            return replace(scene, par=news)
        case Resized(width=width, height=height):
            return replace(scene, width=width, height=height)


def caught_up(scene: Scene) -> Step:
    """What was asked for ahead and can be asked now: call it when a move has been answered."""
    if scene.pending is not None or not scene.ahead or not scene.plays:
        return replace(scene, ahead=()), None
    key, *others = scene.ahead
    return pressed(replace(scene, ahead=tuple(others)), key)


def _stands(scene: Scene, now: Now) -> Scene:
    standings = told_apart(now.standings)
    view, before = now.view, scene.view
    after = replace(scene, view=view, standings=standings, left_ms=now.left_ms)
    known = {standing.seat: standing for standing in scene.standings}
    knowing = {standing.seat: standing for standing in standings}
    if before:  # what was there before one came is no news
        own = view.seat
        texts = [*happenings(known, knowing, own), *_of_the_race(before, view)]
        events = tuple(Event(after.elapsed_ms, text) for text in texts)
        after = replace(after, events=(*scene.events, *events)[-MAX_EVENTS:])
    board, old = view.board, before.board if before else None
    if before and view.stage != before.stage:
        after = replace(after, said=None, page="" if scene.page in QUESTIONS else scene.page, typing=None)
    if board and old and board.ply != old.ply:
        after = replace(after, picks=(), pending=None, said=_answer(scene, old, board, after.me))
    if board and old and board.ply == old.ply and board.outcome != old.outcome:
        after = replace(after, pending=None, said=_stopped(board, after.me))
    if after.over and not scene.over:
        after = replace(after, pending=None, said=None)  # the page says it all
    return replace(after, picks=after.picks if after.plays else ())


def _of_the_race(before: View, now: View) -> list[str]:
    if before.stage == now.stage:
        return []
    words = {"countdown": "all are ready", "running": "go!", "over": "the race is over", "cancelled": "called off"}
    return [words[now.stage]] if now.stage in words else []


def _answer(scene: Scene, before: Board, now: Board, me: Standing | None) -> Said | None:
    """What is said after a move."""
    if now.outcome != before.outcome and now.outcome != "playing":
        return _stopped(now, me)
    if now.attempt != before.attempt:
        return Said(f"The same deal again: attempt {now.attempt}. The best attempt counts.")
    if scene.pending in (None, UNDO):
        return Said("taken back", "") if scene.pending else None
    text = f"{scene.pending}: {change_sentence(before, now, card_text)}"
    return Said(text, "good" if now.home > before.home else "")


def _stopped(board: Board, me: Standing | None) -> Said | None:
    ways = [way for way, possible in (("u undo", board.undo), ("b begin again", board.restart)) if possible]
    match board.outcome:
        case "won":
            return Said(f"You have won in {clock(me.ms)}!" if me else "You have won!", "good")
        case "playing":
            return None
        case "resigned":
            return Said("You have resigned; your best attempt counts.")
        case outcome:
            ending = f": {', '.join([*ways, '! resign'])}" if ways else ". That was the last attempt."
            return Said(f"Your game is {outcome}{ending}", "bad")

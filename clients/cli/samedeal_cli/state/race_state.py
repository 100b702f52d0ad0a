"""The state of the full screen of a race: everything that is shown, as one immutable value."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple

from samedeal.analysis.analysis import Analysis
from samedeal.race.events import Header
from samedeal.race.ghosts import Ghost
from samedeal.race.race import Stage
from samedeal.race.run import RESTART, UNDO
from samedeal.race.standings import Standing
from samedeal.scores.evening import Evening
from samedeal.scores.tallies import Personal, Versus
from samedeal.wire.documents import ChallengePage, Daily, GameDescription
from samedeal.wire.messages import Board, Rematch, View
from samedeal_cli.render.canvas import LEAST
from samedeal_cli.settings import Cards, Settings, Suits, Theme
from samedeal_cli.state.selection import Played, Selection

Tone = Literal["", "good", "bad", "news"]
PREFERENCES: Final = ("theme", "suits", "cards", "auto_drop", "reactions", "clock", "animation")
"""The settings of the program that a race starts with."""


@dataclass(frozen=True)
class Notice:
    """A message for the player."""

    text: str
    tone: Tone = "news"


class Check(NamedTuple):
    """One result of verifying the replay."""

    name: str
    holds: bool
    text: str


class QueuedKey(NamedTuple):
    """A key that waits for the answer to a move, and what it was aimed at on the screen."""

    key: str
    aim: tuple[str, str] | None


class NewsItem(NamedTuple):
    """Something that happened in the race."""

    ms: int | None
    """Milliseconds since the deal, or None outside a running race."""
    text: str


@dataclass(frozen=True)
class RaceState:
    """Everything that the full screen shows."""

    race_id: str
    server: str
    """The server's address, without the scheme."""
    link: str
    watching: bool = False
    game: GameDescription | None = None
    header: Header | None = None
    away_s: float | None = None
    """How long the server holds a seat of the lobby after a disconnect (s), if known."""
    view: View | None = None
    standings: tuple[Standing, ...] = ()
    """With unique names."""
    ghosts: tuple[Ghost, ...] = ()
    left_ms: int | None = None

    picks: tuple[str, ...] = ()
    cursor: str | None = None
    played: Played | None = None
    """The last move, if one key has played it."""
    pending: str | None = None
    """The move that the server has not answered yet."""
    queued_keys: tuple[QueuedKey, ...] = ()
    """Keys to handle after the pending move."""

    notice: Notice | None = None
    news: tuple[NewsItem, ...] = ()
    connection_error: str = ""
    watched_seat: int | None = None
    rivals_hidden: bool = False
    checks: tuple[Check, ...] = ()
    key_known: bool = False
    """Whether the replay was checked for the keys that the server publishes."""
    unverified_reason: str = ""
    par: tuple[str, ...] = ()
    """The result of each of the computer's plays on this deal, compared with the player's."""
    evening: Evening | None = None
    """The scores over the finished races of the evening."""
    daily: Daily | None = None
    """The results on the deal of the day."""
    challenge: ChallengePage | None = None
    """The challenge that a finished race belongs to."""
    scores: Personal | None = None
    """The user's own scores."""
    analysis: Analysis | None = None
    """Whether the deal of a finished race could be won, once it is known."""
    records: tuple[Versus, ...] = ()
    """The user's records against the other racers."""

    named: bool = False
    """Whether the table shows the names of its places instead of their keys, because a move is typed."""
    flash: bool = False
    """Whether the lead has just changed."""
    confetti: int = 0
    """How many more frames of the cards that fall after you have won."""

    width: int = 80
    height: int = 24
    theme: Theme = "terminal"
    suits: Suits = "four"
    cards: Cards = "auto"
    auto_drop: bool = True
    ascii: bool = False
    reactions: bool = True
    """Whether the racers' reactions are shown."""
    clock: bool = True
    """Whether the clock of a running race is shown."""
    animation: bool = False
    practice: bool = False
    """Whether this is practice: there are no server, clock and rivals, but advice."""
    hinted: tuple[str, ...] = ()
    """The places of the move that a hint names."""

    # Derived values.

    @property
    def stage(self) -> Stage | Literal["connecting"]:
        return self.view.stage if self.view else "connecting"

    @property
    def over(self) -> bool:
        return self.stage in ("over", "cancelled")

    @property
    def rematch(self) -> Rematch | None:
        """The rematch that somebody has asked for, until it is over or cancelled."""
        rematch = self.view.next if self.view else None
        return rematch if rematch and rematch.stage not in ("over", "cancelled") else None

    @property
    def levels(self) -> Mapping[int, str]:
        """The levels of the server bots, by seat."""
        return self.view.levels if self.view else {}

    @property
    def fits(self) -> bool:
        """Whether the terminal is large enough."""
        return self.width >= LEAST[0] and self.height >= LEAST[1]

    @property
    def seat(self) -> int | None:
        return self.view.seat if self.view else None

    @cached_property
    def me(self) -> Standing | None:
        return next((standing for standing in self.standings if standing.seat == self.seat), None)

    @property
    def is_host(self) -> bool:
        """Whether the user is the host of an open race."""
        return bool(self.view and self.view.host and self.seat is not None and self.view.host.seat == self.seat)

    @property
    def may_add_bot(self) -> bool:
        """Whether the user can add a server bot in the lobby: there is a seat for it."""
        header = None if self.is_heat else self.header
        return bool(self.me and header and len(self.standings) < header.options.max_racers)

    @property
    def is_heat(self) -> bool:
        """Whether the race belongs to a challenge."""
        return self.header is not None and self.header.heat is not None

    @property
    def is_sealed(self) -> bool:
        """Whether others can still race the deal, which is secret until then."""
        return bool(self.header and self.header.is_common and not (self.view and self.view.deal))

    @property
    def next_deal(self) -> int | None:
        """The number of the next deal of the challenge that the user has not played, if there is one."""
        counts = self.challenge.counts if self.challenge and self.challenge.stage == "open" and self.me else ()
        return next((number for number, race in enumerate(counts, start=1) if race is None), None)

    @property
    def others(self) -> tuple[Standing, ...]:
        """The other racers' standings."""
        return tuple(standing for standing in self.standings if standing.seat != self.seat)

    @cached_property
    def ranking(self) -> Sequence[Standing | Ghost]:
        """The racers and the ghosts, best first."""
        return sorted((*self.standings, *self.ghosts), key=_rank) if self.ghosts else self.standings

    @property
    def has_won(self) -> bool:
        """Whether you have won the race or, alone, solved the deal."""
        rivals = any(standing.attempts for standing in self.others)
        return self.over and self.me is not None and (self.leader == self.seat if rivals else self.me.outcome == "won")

    @property
    def leader(self) -> int | None:
        """The seat of the only racer in first place."""
        first = [standing.seat for standing in self.standings if standing.place == 1]
        return first[0] if len(first) == 1 else None

    @property
    def end_verb(self) -> Literal["finish", "resign"]:
        """What ending your race is called: nobody resigns alone from a game that is over."""
        own = self.view.board if self.view else None
        over = own is not None and own.outcome != "playing"
        return "finish" if over and all(standing.done for standing in self.others) else "resign"

    @property
    def may_rematch(self) -> bool:
        """Whether the user can ask for a rematch: of this race, or of the one that it follows."""
        header = None if self.is_heat else self.header
        return bool(self.me and header and (self.stage == "over" or header.follows))

    @property
    def may_go_on(self) -> bool:
        """Whether there is another race to play or to watch: of a challenge, only the next deal."""
        return self.next_deal is not None if self.is_heat else self.header is not None

    @property
    def has_ghosts(self) -> bool:
        """Whether this race can be raced again, with its racers as ghosts: its deal is public."""
        deal = self.view and self.view.deal
        return self.stage == "over" and bool(deal) and any(each.attempts for each in self.standings)

    @property
    def elapsed_ms(self) -> int | None:
        """Milliseconds since the deal."""
        if self.stage != "running" or self.left_ms is None or self.header is None:
            return None
        return max(0, self.header.options.limit_ms - self.left_ms)

    @property
    def closing_s(self) -> int | None:
        """The seconds until a race ends in which everybody who could continue is stuck."""
        return self._seconds_left(self.view.closing_ms if self.view else None)

    @property
    def waits_s(self) -> int | None:
        """The seconds until you get your cards, while another racer has a head start."""
        return self._seconds_left(self.view.waits_ms if self.view else None)

    def _seconds_left(self, ms: int | None) -> int | None:
        if ms is None or not self.view or self.view.clock_ms is None or self.left_ms is None:
            return None
        return max(0, -((self.view.clock_ms - self.left_ms - ms) // 1000))

    @property
    def head_start(self) -> str:
        """Who has a head start, as in ``ada starts 30 s ahead``; empty if nobody has one."""
        head_start, seat = self.header and self.header.head_start, self.view and self.view.head_start
        name = next((standing.name for standing in self.standings if standing.seat == seat), "")
        if not head_start or not name:
            return ""
        who = "you start" if seat == self.seat else f"{name} starts"
        return f"{who} {head_start.ms / 1000:g} s ahead"

    @property
    def boards(self) -> Mapping[int, Board]:
        """All visible tables, by seat."""
        if not self.view:
            return {}
        own = {self.view.seat: self.view.board} if self.view.seat is not None and self.view.board else {}
        return own | (self.view.boards or {})

    @property
    def shown_seat(self) -> int | None:
        """The seat of the table on the screen: the watched one if visible, else your own, else the first."""
        if self.watched_seat in self.boards:
            return self.watched_seat
        return self.seat if self.seat in self.boards else next(iter(self.boards), None)

    @property
    def board(self) -> Board | None:
        """The table on the screen."""
        return self.boards.get(self.shown_seat) if self.shown_seat is not None else None

    @property
    def shows_all(self) -> bool:
        """Whether the screen shows all visible tables at once: none accepts moves, and none was chosen."""
        return len(self.boards) > 1 and not self.can_play and self.watched_seat not in self.boards

    @property
    def can_play(self) -> bool:
        """Whether the table on the screen accepts moves."""
        return self.is_playing and self.shown_seat == self.seat

    @property
    def is_playing(self) -> bool:
        """Whether you are playing, and so all letters and digits are keys of piles."""
        return self.stage == "running" and self.seat is not None and not self.finished

    @property
    def finished(self) -> bool:
        """Whether your own race is over."""
        return self.me is not None and self.me.done

    @cached_property
    def selection(self) -> Selection:
        """The selection on the current table; without moves if nothing can be played or a move is pending."""
        return self._select(self.board if self.can_play and self.pending is None else None)

    @property
    def possible(self) -> Selection:
        """The selection on the current table, also while another move is pending."""
        return self._select(self.board if self.can_play else None)

    def _select(self, board: Board | None) -> Selection:
        game = self.game
        return Selection(
            tuple(board.moves or ()) if board else (),
            game.layout if game else "",
            frozenset(game.foundations if game else ()),
            game.stock if game else "",
            self.auto_drop,
            self.picks,
            self.cursor,
            self.played,
        )

    @property
    def pending_text(self) -> str:
        """The pending move as the table shows its places, and how many keys wait for its answer."""
        if self.pending is None:
            return ""
        places = self.selection.parse(self.pending).places
        queued = f" ⋯{len(self.queued_keys)}" if self.queued_keys else ""
        return f"> {self.pending if self.named or not places else self.with_keys(' '.join(places))}{queued}"

    def with_keys(self, text: str) -> str:
        """Return a text about the table with the keys of places instead of their names, as the table shows them."""
        return text if self.named or not self.is_playing else self.selection.with_keys(text)

    @property
    def typeable(self) -> tuple[str, ...]:
        """The moves that can be typed now."""
        board = self.board if self.can_play else None
        return (*(board.moves or ()), *[UNDO] * board.undo, *[RESTART] * board.restart) if board else ()

    @cached_property
    def predicted(self) -> tuple[Mapping[str, Sequence[str]], frozenset[str]]:
        """The piles with the pending move applied, and the places that it affects."""
        if not self.board:
            return {}, frozenset()
        table = self.board.table
        if not self.pending or not self.can_play:
            return table, frozenset()
        choice = self.selection.parse(self.pending)
        if choice.is_transfer and table[choice.places[0]]:
            source, target = choice.places
            count = choice.size(table, self.game.labels if self.game else {})
            moved = {source: table[source][:-count], target: [*table[target], *table[source][-count:]]}
            return {**table, **moved}, frozenset(choice.places)
        return table, frozenset(choice.places or self.selection.stock_places)


def _rank(racer: Standing | Ghost) -> tuple[bool, int, int]:
    won = racer.outcome == "won"
    return not won, 0 if won else -racer.home, racer.ms


def first_state(settings: Settings, race_id: str, **fields: Any) -> RaceState:
    """Return the state of a race before it is joined, for this terminal and with these settings."""
    fields = {"server": "", "link": ""} | fields
    kept = {name: getattr(settings, name) for name in PREFERENCES}
    size = shutil.get_terminal_size()
    return RaceState(race_id, width=size.columns, height=size.lines, **kept, **fields)


def state_of_next_race(state: RaceState, race_id: str, link: str) -> RaceState:
    """The state of another race, with the same terminal, and settings."""
    kept = ("server", "evening", "width", "height", "ascii", "rivals_hidden")
    fields = {name: getattr(state, name) for name in (*kept, *PREFERENCES)}
    return RaceState(race_id=race_id, link=link, **fields)

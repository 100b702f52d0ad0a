"""A race is its log: this one fold plays it live, restores it after a restart and verifies its replay."""

from collections.abc import Iterable
from functools import cache, reduce
from operator import attrgetter
from typing import Literal, Self

from msgspec import Struct

from samedeal.errors import IllegalMove, Refused
from samedeal.game import Game, Move
from samedeal.games.catalogue import GAMES
from samedeal.proof.commitments import commitment, daily_commitment, first_digest, next_digest, nonce_commitment, root
from samedeal.race.events import (
    AnyEvent,
    Closed,
    Counting,
    Dealt,
    Entry,
    Header,
    Joined,
    Left,
    Moved,
    Nonce,
    Options,
    Readied,
    Resigned,
    Taken,
    Unreadied,
    Whole,
    entry_bytes,
    header_bytes,
)
from samedeal.race.undo_history import UndoHistory
from samedeal.values import PersistentList, Value, derived, replace

UNDO, RESTART = "undo", "restart"
MAX_SEATS = 64
"""How many seats a race has, those that were left included: twice as many as can race, so that a log that is all coming
and going is folded as quickly as one of moves."""
OPEN_MS = 24 * 3_600_000
"""How long a race waits for its countdown before it may be called off."""
MAX_MOVES = 5_000
"""How many moves one racer may make in a race, so that no log grows without bound."""
MAX_ENTRIES = MAX_MOVES + 3_000
"""How many entries may be about one seat: moves, and coming back, and being ready and not ready. All seats together
have fewer than a replay can hold."""

Stage = Literal["open", "countdown", "running", "over", "cancelled"]


class Standing(Struct, frozen=True, kw_only=True):
    """How one racer stands. It shows no card, so everybody may see it at any time."""

    place: Whole
    seat: Whole
    name: str
    bot: bool
    outcome: str
    """waiting or ready before the deal; then playing, won, lost, stuck, over, resigned, timeout, or scratched for a
    racer whose nonce did not come."""
    done: bool
    """Whether the racer has stopped for good."""
    home: Whole
    """The most cards home in any attempt so far, of the game's goal."""
    goal: Whole
    progress: float
    """The same as a share, 0 to 1; 1 for a winner and only then."""
    attempts: Whole
    ms: Whole
    """The time from the start to the win, or to the moment when `home` was first reached."""


class Run(Value, frozen=True):
    """One racer's way through the deal."""

    options: Options
    """Those of the race."""
    deal: Game
    game: Game
    moves: PersistentList[Move] = PersistentList()
    """All of them, undo and restart included, over all attempts."""
    past: UndoHistory = UndoHistory()
    """The positions that undo goes back to; a reveal empties it."""
    attempts: int = 1
    peak: int = 0
    """The most cards home in any attempt."""
    peak_ms: int = 0
    """How long after the deal they first were."""
    resigned: bool = False

    def after(self, move: Move, ms: int) -> Self:
        """The run after a move `ms` after the deal. Raises IllegalMove, or Refused where the race does not allow it."""
        if len(self.moves) >= MAX_MOVES:
            raise Refused("not-allowed", f"A racer makes at most {MAX_MOVES} moves in a race.")
        if move == RESTART:
            self._check_restart()
            moves = self.moves.appended(RESTART)
            return replace(self, moves=moves, game=self.deal, past=UndoHistory(), attempts=self.attempts + 1)
        if move == UNDO:
            self._check_undo()
            game, past = self.past.back()
            return replace(self, moves=self.moves.appended(UNDO), game=game, past=past)
        game = self.game.after(move)
        home = game.home
        peak, peak_ms = (home, ms) if home > self.peak or game.won else (self.peak, self.peak_ms)
        move = _text(move)
        past = UndoHistory() if self.game.reveals(game) else self.past.appended(self.game, move)
        moves = self.moves.appended(move)
        return replace(self, moves=moves, game=game, past=past, peak=peak, peak_ms=peak_ms)

    def may(self, move: Move) -> bool:
        """Whether UNDO or RESTART is possible now."""
        if move == UNDO:
            return bool(self.options.undo and self.past and self.game.outcome in ("playing", "stuck"))
        tries_left = not self.options.attempts or self.attempts < self.options.attempts
        return tries_left and not self.game.won and self.game != self.deal

    @derived
    def done(self) -> bool:
        """Whether the racer can do nothing more: won, resigned, or at an end without undo and restart."""
        if self.game.won or self.resigned:
            return True
        return self.game.over and not self.may(UNDO) and not self.may(RESTART)

    @property
    def outcome(self) -> str:
        return "resigned" if self.resigned and not self.game.over else self.game.outcome

    @property
    def progress(self) -> float:
        return 1.0 if self.game.won else self.peak / self.game.goal

    def _check_undo(self) -> None:
        if not self.options.undo:
            raise Refused("not-allowed", "This race is run without undo.")
        if self.game.outcome not in ("playing", "stuck"):
            raise IllegalMove(f"The game is {self.game.outcome}: that cannot be undone.")
        if not self.past:
            raise IllegalMove("There is nothing to undo: a card that has been turned up stays seen.")

    def _check_restart(self) -> None:
        if self.options.attempts and self.attempts >= self.options.attempts:
            raise Refused("not-allowed", f"This race allows {self.options.attempts} at the deal, and this is the last.")
        if self.game.won:
            raise IllegalMove("The game is won: there is nothing to start again.")
        if self.game == self.deal:
            raise IllegalMove("The deal is untouched: there is nothing to start again.")


class Seat(Value, frozen=True):
    """One place in a race and who has it."""

    number: int
    player: str
    name: str
    bot: bool
    commitment: str | None
    ready: bool = False
    left: bool = False
    nonce: str | None = None
    taken: int = 0
    """The number of the entry with which the present connection took the seat."""
    taken_at: int = 0
    """When that was, in ms since 1970-01-01 UTC."""
    entries: int = 1
    """How many entries of the log are about this seat."""
    run: Run | None = None
    """None before the deal, and for good when the racer was scratched."""

    @derived
    def rank(self) -> tuple[bool, bool, int, int]:
        """Sorts the best first, and those who have no run last; seats with equal ranks share a place."""
        run = self.run
        if run is None:
            return (True, True, 0, 0)
        won = run.game.won
        return (False, not won, 0 if won else -run.peak, run.peak_ms)

    @derived
    def standing(self) -> Standing | None:
        """How the racer stands, all but the place; None without a run."""
        run = self.run
        if run is None:
            return None
        return Standing(
            place=0,
            seat=self.number,
            name=self.name,
            bot=self.bot,
            outcome=run.outcome,
            done=run.done,
            home=run.peak,
            goal=run.game.goal,
            progress=run.progress,
            attempts=run.attempts,
            ms=run.peak_ms,
        )


class Race(Value, frozen=True):
    """A race as it stands after a part of its log. It never changes: ``after`` answers with the next one."""

    header: Header
    secret: bytes
    """Handed in: it is in no log before the closing entry."""
    digest: str
    n: int = 0
    at: int = 0
    seats: tuple[Seat, ...] = ()
    counting_at: int | None = None
    started_at: int | None = None
    seed: str | None = None
    """What was dealt, from the deal on."""
    closed: bool = False

    @classmethod
    def opened(cls, header: Header, secret: bytes) -> Self:
        """The race before its first entry. Raises Refused if the secret or the rules are not the header's."""
        game = GAMES.get(header.game)
        if game is None or game.rules != header.rules:
            known = game.rules if game else ", ".join(sorted(each.rules for each in GAMES.values()))
            text = f"This race needs the rules {header.rules}; this version knows {known}."
            raise Refused("unsupported-version", text)
        try:
            game.check_variant(header.variant)
        except ValueError as error:
            raise Refused("unsupported-version", f"This is not known here: {error}.") from error
        if header.daily and (header.seed is not None or header.variant):
            raise Refused("bad-replay", "A daily deal has neither a seed of somebody's choice nor a variant.")
        if committed(header, secret) != header.commitment:
            raise Refused("bad-replay", "The secret is not the one that was committed to.")
        return cls(header, secret, first_digest(secret, header_bytes(header)), at=header.opened_at)

    # The fold.

    def after_all(self, entries: Iterable[Entry]) -> Self:
        return reduce(type(self).after, entries, self)

    def after(self, entry: Entry) -> Self:
        """The race after one more entry of its log. Raises Refused if the entry does not belong there."""
        race, made = self.extended(entry.at, entry.event)
        if made != entry:
            raise Refused("bad-replay", f"Entry {entry.n} is not what the log has at {made.n}.")
        return race

    def extended(self, at: int, event: AnyEvent) -> tuple[Self, Entry]:
        """The race after an event at a time, and the entry for its log; or Refused: what is refused is never logged."""
        if at < self.at:
            raise Refused("untimely", "Time does not run backwards.")
        race, n = self._after(at, event), self.n + 1
        digest = next_digest(self.secret, self.digest, entry_bytes(n, at, event))
        return replace(race, n=n, at=at, digest=digest), Entry(n, at, event, digest)

    def _after(self, at: int, event: AnyEvent) -> Self:
        if self.closed:
            raise Refused("race-over")
        match event:
            case Moved(seat=number, move=move):  # first, because it is what most of them are
                seat, run = self._playing(number, at)
                return self._seated(replace(seat, run=run.after(move, at - (self.started_at or 0))))
            case Joined():
                return self._joined(at, event)
            case Left(seat=number):
                return self._seated(replace(self._waiting(number), left=True, ready=False))
            case Readied(seat=number):
                return self._seated(replace(self._waiting(number), ready=True))
            case Unreadied(seat=number):
                return self._seated(replace(self._waiting(number), ready=False))
            case Counting():
                if not self.ready_to_start:
                    raise Refused("untimely", "The countdown begins when every racer is ready.")
                return replace(self, counting_at=at)
            case Nonce(seat=number, nonce=nonce):
                return self._opened_nonce(number, nonce)
            case Dealt(k=k):
                return self._dealt(at, k)
            case Resigned(seat=number):
                seat, run = self._playing(number, at)
                return self._seated(replace(seat, run=replace(run, resigned=True)))
            case Taken(seat=number):
                return self._seated(replace(self.seat(number), taken=self.n + 1, taken_at=at))
            case Closed(secret=secret):
                if not self.finished(at) or bytes.fromhex(secret) != self.secret:
                    raise Refused("untimely", "The race cannot be closed so.")
                return replace(self, closed=True)

    # Questions.

    @property
    def id(self) -> str:
        return self.header.race

    @property
    def game(self) -> type[Game]:
        return GAMES[self.header.game]

    @property
    def options(self) -> Options:
        return self.header.options

    @property
    def stage(self) -> Stage:
        if self.closed:
            return "over" if any(seat.run for seat in self.seats) else "cancelled"
        if self.started_at is not None:
            return "running"
        return "open" if self.counting_at is None else "countdown"

    @derived
    def roster(self) -> tuple[Seat, ...]:
        """The seats that somebody has."""
        return tuple([seat for seat in self.seats if not seat.left])

    @property
    def ready_to_start(self) -> bool:
        """Whether the countdown may begin: all are ready, and they are at least two unless it is a race for one."""
        if self.stage != "open":
            return False
        roster = self.roster
        return len(roster) >= min(2, self.options.max_racers) and all(seat.ready for seat in roster)

    @property
    def starts_at(self) -> int | None:
        """When the deal is due, once the countdown has begun."""
        return None if self.counting_at is None else self.counting_at + self.options.start_delay_ms

    @property
    def ends_at(self) -> int | None:
        """When the time is up, once the clock runs."""
        return None if self.started_at is None else self.started_at + self.header.options.limit_ms

    @property
    def root(self) -> str | None:
        """What a deal that is not open follows from, as far as the nonces are in; None for an open deal."""
        if self.header.seed is not None:
            return None
        racers = self.roster if self.header.sealed else ()
        return root(self.secret, (bytes.fromhex(seat.nonce) for seat in racers if seat.nonce))

    @property
    def deal(self) -> str | None:
        """The code that names the deal for ever, once it is known."""
        return None if self.seed is None else f"{self.header.game}:{self.seed}"

    @property
    def has_all_nonces(self) -> bool:
        """Whether every nonce is known that the deal follows from."""
        return not self.header.sealed or all(seat.nonce for seat in self.roster)

    @property
    def expires_at(self) -> int:
        """When a race that waits for its countdown may be called off; one for a daily deal must be dealt by then."""
        return self.header.day_ends_at if self.header.daily else self.header.opened_at + OPEN_MS

    @property
    def reveals_at(self) -> int:
        """Before when the deal of the race must not be told though the race is over."""
        return self.header.reveals_at

    def finished(self, at: int) -> bool:
        """Whether nothing more can happen but the closing: all are done, the time is up, or nobody ever started."""
        if self.ends_at is None:
            return (self.stage == "open" or self.header.daily) and at >= self.expires_at
        return at >= self.ends_at or all(seat.run is None or seat.run.done for seat in self.seats)

    def seat(self, number: int) -> Seat:
        """The seat of that number. Raises Refused if nobody has it."""
        if not 1 <= number <= len(self.seats) or self.seats[number - 1].left:
            raise Refused("not-seated", f"Nobody has seat {number}.")
        return self.seats[number - 1]

    def seat_for(self, player: str) -> int:
        """The number of the seat that a player who has none gets by joining: the former one, or else a new one.

        Once there are MAX_SEATS of them, new players get the first one that was left.
        """
        former = next((seat.number for seat in self.seats if seat.player == player), None)
        if former is not None or len(self.seats) < MAX_SEATS:
            return former or len(self.seats) + 1
        return next((seat.number for seat in self.seats if seat.left), MAX_SEATS + 1)

    def seat_of(self, player: str) -> Seat | None:
        """The seat that a player has."""
        return next((seat for seat in self.roster if seat.player == player), None)

    def standings(self) -> tuple[Standing, ...]:
        """The racers, best first: winners by time, then by the most cards home and who got there first (ties share)."""
        return self._standings

    @derived
    def _standings(self) -> tuple[Standing, ...]:
        table: list[Standing] = []
        place, before = 0, None
        for seat in sorted([seat for seat in self.seats if not seat.left], key=_rank):
            if (rank := seat.rank) != before:
                place, before = len(table) + 1, rank
            table.append(replace(seat.standing or self._without_run(seat), place=place))
        return tuple(map(_stopped, table) if self.closed else table)

    # Steps of the fold.

    def _joined(self, at: int, event: Joined) -> Self:
        if self.stage != "open":
            raise Refused("untimely", "Seats are taken before the countdown.")
        if len(self.roster) >= self.options.max_racers or event.seat > MAX_SEATS:
            raise Refused("race-full")
        if self.seat_of(event.player):
            raise Refused("untimely", f"{event.name} has a seat already.")
        if event.seat != self.seat_for(event.player):
            raise Refused("untimely", "Seats are numbered in the order of joining; who comes back has the same again.")
        if event.commitment is None and self.header.sealed:
            raise Refused("nonce-mismatch", "A sealed deal needs every racer's commitment to a nonce.")
        seat = Seat(
            number=event.seat,
            player=event.player,
            name=event.name,
            bot=event.bot,
            commitment=event.commitment,
            taken=self.n + 1,
            taken_at=at,
        )
        if event.seat > len(self.seats):
            return replace(self, seats=(*self.seats, seat))
        return self._seated(replace(seat, entries=self.seats[event.seat - 1].entries))

    def _opened_nonce(self, number: int, nonce: str) -> Self:
        seat = self.seat(number)
        if self.stage != "countdown" or seat.nonce is not None:
            raise Refused("untimely", "A nonce is opened once, during the countdown.")
        if nonce_commitment(self.id, bytes.fromhex(nonce)) != seat.commitment:
            raise Refused("nonce-mismatch")
        return self._seated(replace(seat, nonce=nonce))

    def _dealt(self, at: int, k: int) -> Self:
        if self.stage != "countdown" or self.starts_at is None or at < self.starts_at:
            raise Refused("untimely", "The deal comes when the countdown is over.")
        if self.finished(at):
            raise Refused("untimely", "The day of this deal is over.")
        if k and self.root is None:
            raise Refused("untimely", "An open deal is the one announced.")
        seed = self.header.seed or f"{self.root}.{k}"
        deal = self.game.from_seed(seed, **self.header.variant)
        in_time = [not self.header.sealed or seat.nonce is not None for seat in self.seats]
        seats = tuple(
            replace(seat, run=Run(self.options, deal, deal, peak=deal.home)) if counts and not seat.left else seat
            for seat, counts in zip(self.seats, in_time, strict=True)
        )
        return replace(self, seats=seats, started_at=at, seed=seed)

    def _waiting(self, number: int) -> Seat:
        if self.stage != "open":
            raise Refused("untimely", "The seats are settled once the countdown has begun.")
        return self.seat(number)

    def _playing(self, number: int, at: int) -> tuple[Seat, Run]:
        seat, ends_at = self.seat(number), self.ends_at
        if ends_at is None:
            raise Refused("untimely", "The race has not begun.")
        if seat.run is None:
            raise Refused("not-playing", "This seat was scratched: its nonce did not come in time.")
        if at >= ends_at or (seat.run.done and self.finished(at)):
            raise Refused("race-over")
        if seat.run.done:
            raise Refused("not-playing", f"You have stopped: {seat.run.outcome}.")
        return seat, seat.run

    def _seated(self, seat: Seat) -> Self:
        """The race with one seat as an entry has made it."""
        if seat.entries >= MAX_ENTRIES:
            raise Refused("not-allowed", "This seat has used up its share of the race's log.")
        seats = list(self.seats)
        seats[seat.number - 1] = replace(seat, entries=seat.entries + 1)
        return replace(self, seats=tuple(seats))

    def _without_run(self, seat: Seat) -> Standing:
        dealt = self.started_at is not None
        return Standing(
            place=0,
            seat=seat.number,
            name=seat.name,
            bot=seat.bot,
            outcome="scratched" if dealt else "ready" if seat.ready else "waiting",
            done=dealt,
            home=0,
            goal=self.game.goal,
            progress=0.0,
            attempts=0,
            ms=0,
        )


def _stopped(standing: Standing) -> Standing:
    """How a racer stands when the race is closed."""
    outcome = "timeout" if standing.outcome == "playing" else standing.outcome
    return replace(standing, outcome=outcome, done=True)


def committed(header: Header, secret: bytes) -> str:
    """The commitment to the secret of a race; what the header itself says of it is not looked at."""
    if header.daily:
        return daily_commitment(header.game, header.date, secret)
    return commitment(header.race, secret)


_rank = attrgetter("rank")


@cache
def _text(move: Move) -> Move:
    """One text for all who make the same legal move; a game has some hundreds of them, or a few thousand."""
    return move

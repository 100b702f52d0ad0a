"""The race as a fold over its log: the same code plays it live, restores it after a restart and verifies its replay."""

import re
from typing import Literal, Self, assert_never

from samedeal.commitments import challenge_root, commitment, daily_commitment, nonce_commitment, root, server_nonce
from samedeal.digest_chain import first_digest
from samedeal.errors import Refused
from samedeal.game import Game
from samedeal.games.catalogue import GAMES
from samedeal.race.chained_log import ChainedLog
from samedeal.race.events import (
    SERVER,
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
    header_bytes,
)
from samedeal.race.run import MAX_MOVES, Run
from samedeal.race.standings import Seat, Standing, rank_seats
from samedeal.values import derived, replace

MAX_SEATS = 64
"""The maximum number of seats, including abandoned ones: twice as many as can race. It bounds the time for folding a
log in which players only join and leave."""
STUCK_MS = 10_000
"""The time for undoing or restarting before a race can end early because everybody is stuck."""
OPEN_MS = 24 * 3_600_000
"""How long a race waits for its countdown before it expires."""
MAX_SEAT_ENTRIES = MAX_MOVES + 3_000
"""The maximum number of entries about one seat: moves, reconnections and changes of readiness. All seats together stay
below the maximum length of a replay."""
MAX_PLAYER_ENTRIES = MAX_SEAT_ENTRIES - 100
"""The number of entries about one seat beyond which only the server can add more, so it can always release the seat."""

Stage = Literal["open", "countdown", "running", "over", "cancelled"]


class Race(ChainedLog[AnyEvent, Entry], frozen=True):
    """The state of a race after some part of its log."""

    entry_type = Entry

    header: Header
    seats: tuple[Seat, ...] = ()
    counting_at: int | None = None
    started_at: int | None = None
    seed: str | None = None
    """The seed of the deal, once dealt."""
    closed: bool = False

    @classmethod
    def opened(cls, header: Header, secret: bytes) -> Self:
        """Return the race before its first entry. Raises Refused if the secret or the rules do not match the header."""
        game = GAMES.get(header.game)
        if game is None or game.rules != header.rules:
            supported = game.rules if game else ", ".join(sorted(each.rules for each in GAMES.values()))
            text = f"This race needs the rules {header.rules}; this version knows {supported}."
            raise Refused("unsupported-version", text)
        try:
            game.check_seed(header.seed or "")
            game.check_variant(header.variant)
        except ValueError as error:
            raise Refused("unsupported-version", f"The deal or variant is not known here: {error}.") from error
        if any(choice == game.options[option][0] for option, choice in header.variant.items()):
            raise Refused("unsupported-version", "The variant contains an option with its default.")
        is_special = header.variant or header.head_start or header.options.end_when_stuck
        if header.daily and (header.seed is not None or is_special):
            raise Refused("bad-replay", "A daily deal has no seed, variant, head start or early end.")
        if header.head_start and header.head_start.ms >= header.options.limit_ms:
            raise Refused("bad-replay", "A head start must be shorter than the race.")
        if header.club and not header.sealed:
            raise Refused("bad-replay", "The races of a club are on sealed deals, and heats name only their challenge.")
        if header.heat and not is_heat_valid(header):
            raise Refused("bad-replay", "A heat has no seed, head start, ghosts, rematch or open spectators.")
        if committed(header, secret) != header.commitment:
            raise Refused("bad-replay", "The secret does not match the commitment.")
        race = cls(secret, "", 0, header.opened_at, header)
        return replace(race, digest=race.first_digest)

    def _apply(self, at: int, event: AnyEvent) -> Self:
        if self.closed:
            raise Refused("race-over")
        match event:
            case Moved(seat=number, move=move):  # first, because most events are moves
                seat, run = self._playing_seat(number, at)
                if self.header.head_start:
                    self._check_head_start(seat, at)
                return self._with_seat(replace(seat, run=run.after(move, at - (self.started_at or 0))))
            case Joined():
                return self._join(at, event)
            case Left(seat=number):
                return self._with_seat(replace(self._waiting_seat(number), left=True, ready=False, changed_at=at))
            case Readied(seat=number):
                return self._with_seat(replace(self._waiting_seat(number), ready=True, changed_at=at))
            case Unreadied(seat=number):
                return self._with_seat(replace(self._waiting_seat(number), ready=False, changed_at=at))
            case Counting():
                if not self.ready_to_start:
                    raise Refused("untimely", "The countdown starts when every racer is ready.")
                return replace(self, counting_at=at)
            case Nonce(seat=number, nonce=nonce):
                return self._open_nonce(number, nonce)
            case Dealt(k=k):
                return self._deal(at, k)
            case Resigned(seat=number):
                seat, run = self._playing_seat(number, at)
                return self._with_seat(replace(seat, run=replace(run, resigned=True)))
            case Taken(seat=number):
                return self._with_seat(replace(self.seat(number), taken=self.n + 1, taken_at=at))
            case Closed(secret=secret):
                if not self.finished(at) or bytes.fromhex(secret) != self.secret:
                    raise Refused("untimely", "The race cannot be closed now, or not with this secret.")
                return replace(self, closed=True)
            case _:
                assert_never(event)

    # Queries.

    @property
    def id(self) -> str:
        return self.header.race

    @property
    def first_digest(self) -> str:
        """The digest before the first entry."""
        return first_digest(self.secret, header_bytes(self.header))

    @property
    def game(self) -> type[Game]:
        return GAMES[self.header.game]

    @property
    def options(self) -> Options:
        return self.header.options

    @derived
    def stage(self) -> Stage:
        if self.closed:
            return "over" if any(seat.run for seat in self.seats) else "cancelled"
        if self.started_at is not None:
            return "running"
        return "open" if self.counting_at is None else "countdown"

    @derived
    def roster(self) -> tuple[Seat, ...]:
        """The occupied seats."""
        return tuple([seat for seat in self.seats if not seat.left])

    @property
    def ready_to_start(self) -> bool:
        """Whether the countdown can start: all racers are ready, at least two unless the race is for one."""
        if self.stage != "open":
            return False
        roster = self.roster
        return len(roster) >= min(2, self.options.max_racers) and all(seat.ready for seat in roster)

    @property
    def starts_at(self) -> int | None:
        """When the deal is due, or None before the countdown."""
        return None if self.counting_at is None else self.counting_at + self.options.start_delay_ms

    @derived
    def ends_at(self) -> int | None:
        """When time is up, or None before the deal."""
        return None if self.started_at is None else self.started_at + self.header.options.limit_ms

    @derived
    def ends_early_at(self) -> int | None:
        """When a race can be closed because all racers who are not done are stuck, or None if that is not so.

        That is STUCK_MS after its last entry, if the race has ``end_when_stuck``. It takes two people: with one, nobody
        else waits.
        """
        if self.closed or not self.options.end_when_stuck:
            return None
        racers = [seat for seat in self.seats if seat.run]
        playing = [seat.run for seat in racers if seat.run and not seat.run.done]
        if sum(not seat.bot for seat in racers) < 2 or not playing or not all(run.game.over for run in playing):
            return None
        return self.at + STUCK_MS

    @property
    def ahead(self) -> Seat | None:
        """The seat of the player who has a head start, or None without a head start or without this player."""
        head_start = self.header.head_start
        return self.seat_of(head_start.player) if head_start else None

    @property
    def all_play_from(self) -> int:
        """When all racers have their cards: after the head start of one who is not done, or with the deal."""
        started_at, head_start, ahead = self.started_at or 0, self.header.head_start, self.ahead
        return started_at + head_start.ms if head_start and ahead and ahead.run and not ahead.run.done else started_at

    def plays_from(self, seat: Seat) -> int:
        """Return when a racer gets the cards: after the head start of another racer, or with the deal."""
        ahead = self.ahead
        return self.started_at or 0 if ahead and seat.number == ahead.number else self.all_play_from

    @property
    def root(self) -> str | None:
        """What a deal is derived from that is not open, given the nonces received so far; None for an open deal."""
        if self.header.seed is not None:
            return None
        if heat := self.header.heat:
            return challenge_root(self.secret, heat.challenge, bytes.fromhex(heat.nonce), heat.deal)
        racers = self.roster if self.header.sealed else ()
        return root(self.secret, (bytes.fromhex(seat.nonce) for seat in racers if seat.nonce))

    @property
    def deal(self) -> str | None:
        """The code of the deal, such as ``corners:42``, or None before the deal."""
        return None if self.seed is None else f"{self.header.game}:{self.seed}"

    @property
    def has_all_nonces(self) -> bool:
        """Whether every nonce that the deal depends on has arrived."""
        return not self.header.sealed or all(seat.nonce for seat in self.roster)

    @property
    def expires_at(self) -> int:
        """When a race without a countdown expires."""
        return min(self.header.opened_at + OPEN_MS, self.header.dealt_by)

    def server_commitment(self, number: int) -> str:
        """Return the commitment of a seat that a server bot has."""
        return nonce_commitment(self.id, server_nonce(self.secret, self.id, number))

    def finished(self, at: int) -> bool:
        """Return whether the race can be closed: all racers are done or stuck, time is up, or it expired unstarted."""
        if self.ends_at is None:
            return at >= (self.expires_at if self.stage == "open" else self.header.dealt_by)
        early_at = self.ends_early_at
        if at >= self.ends_at or (early_at is not None and at >= early_at):
            return True
        return all(seat.run is None or seat.run.done for seat in self.seats)

    def seat(self, number: int) -> Seat:
        """Return a seat by number. Raises Refused("not-seated") if it is not occupied."""
        if not 1 <= number <= len(self.seats) or (seat := self.seats[number - 1]).left:
            raise Refused("not-seated", f"Seat {number} is not taken.")
        return seat

    def seat_for(self, player: str) -> int:
        """Return the seat number that a player without a seat gets by joining: the previous one, or else a new one.

        Once there are MAX_SEATS seats, new players get the first abandoned one that has entries left for players.
        """
        former = next((seat.number for seat in self.seats if seat.player == player), None)
        if former is not None or len(self.seats) < MAX_SEATS:
            return former or len(self.seats) + 1
        free = (seat.number for seat in self.seats if seat.left and seat.entries < MAX_PLAYER_ENTRIES)
        return next(free, MAX_SEATS + 1)

    def seat_of(self, player: str) -> Seat | None:
        """Return the player's seat, or None."""
        return next((seat for seat in self.roster if seat.player == player), None)

    def standings(self) -> tuple[Standing, ...]:
        """Return the standings, best first: winners by time, then others by cards home and time. Ties share a place."""
        return self._standings

    @derived
    def _standings(self) -> tuple[Standing, ...]:
        return rank_seats(self.roster, self.game.goal, dealt=self.started_at is not None, closed=self.closed)

    # Applying events.

    def _join(self, at: int, event: Joined) -> Self:
        if self.stage != "open":
            if any(seat.left and seat.player == event.player for seat in self.seats):
                raise Refused("untimely", "The race has started without you. You can still watch it.")
            raise Refused("untimely", "The race has started. You can watch it.")
        if len(self.roster) >= self.options.max_racers or event.seat > MAX_SEATS:
            raise Refused("race-full")
        if self.seat_of(event.player):
            raise Refused("untimely", f"{event.name} already has a seat.")
        if event.seat != self.seat_for(event.player):
            raise Refused("untimely", "The seat number does not follow the order of joining.")
        if event.commitment is None and self.header.sealed:
            raise Refused("nonce-mismatch", "A sealed deal requires a commitment to a nonce from every racer.")
        server = event.by == SERVER
        if server and self.header.heat:
            raise Refused("not-allowed", "Server bots do not take part in challenges.")
        if server and self.header.sealed and event.commitment != self.server_commitment(event.seat):
            raise Refused("nonce-mismatch", "The nonce of a server bot does not follow from the secret.")
        seat = Seat(
            number=event.seat,
            player=event.player,
            name=event.name,
            bot=event.bot,
            commitment=event.commitment,
            taken=self.n + 1,
            taken_at=at,
            joined_at=at,
            changed_at=at,
            server=server,
        )
        if event.seat > len(self.seats):
            return replace(self, seats=(*self.seats, seat))
        former = self.seats[event.seat - 1]
        inherited = former.inherited if former.player == event.player else former.entries
        return self._with_seat(replace(seat, entries=former.entries, inherited=inherited))

    def _open_nonce(self, number: int, nonce: str) -> Self:
        seat = self.seat(number)
        if self.stage != "countdown" or seat.nonce is not None:
            raise Refused("untimely", "A nonce can be revealed only once, during the countdown.")
        if nonce_commitment(self.id, bytes.fromhex(nonce)) != seat.commitment:
            raise Refused("nonce-mismatch")
        return self._with_seat(replace(seat, nonce=nonce))

    def _deal(self, at: int, k: int) -> Self:
        if self.stage != "countdown" or self.starts_at is None or at < self.starts_at:
            raise Refused("untimely", "The deal follows the countdown.")
        if self.finished(at):
            raise Refused("untimely", "The time for this deal is over.")
        if self.header.sealed and any(seat.server and not seat.nonce for seat in self.roster):
            raise Refused("nonce-mismatch", "The nonce of a server bot is missing.")
        if k and self.root is None:
            raise Refused("untimely", "An open deal has only the number 0.")
        seed = self.header.seed or f"{self.root}.{k}"
        deal = self.game.from_seed(seed, **self.header.variant)
        seats = tuple(
            seat
            if seat.left or (self.header.sealed and seat.nonce is None)
            else replace(seat, run=Run(self.options, deal, deal, peak=deal.home))
            for seat in self.seats
        )
        return replace(self, seats=seats, started_at=at, seed=seed)

    def _waiting_seat(self, number: int) -> Seat:
        if self.stage != "open":
            raise Refused("untimely", "This is possible only before the countdown.")
        return self.seat(number)

    def _playing_seat(self, number: int, at: int) -> tuple[Seat, Run]:
        seat, ends_at = self.seat(number), self.ends_at
        if ends_at is None:
            raise Refused("untimely", "The race has not started.")
        if seat.run is None:
            raise Refused("not-playing", "This seat was scratched because its nonce did not arrive in time.")
        if at >= ends_at or (seat.run.done and self.finished(at)):
            raise Refused("race-over")
        if seat.run.done:
            raise Refused("not-playing", "You have already finished.")
        return seat, seat.run

    def _check_head_start(self, seat: Seat, at: int) -> None:
        """Raise Refused("untimely") if the racer has to wait for the end of another racer's head start."""
        if self.ahead and (waits_ms := self.plays_from(seat) - at) > 0:
            text = f"{self.ahead.name} has a head start. You can play in {-(-waits_ms // 1000)} s."
            raise Refused("untimely", text)

    def _with_seat(self, seat: Seat) -> Self:
        """Return the race with one seat replaced, and count the entry that changed it."""
        if seat.entries >= MAX_SEAT_ENTRIES:
            raise Refused("not-allowed", "This seat has reached its limit of log entries.")
        seats = list(self.seats)
        seats[seat.number - 1] = replace(seat, entries=seat.entries + 1)
        return replace(self, seats=tuple(seats))


def committed(header: Header, secret: bytes) -> str:
    """Return the commitment to a secret, whatever commitment the header contains."""
    if header.daily:
        return daily_commitment(header.game, header.date, secret)
    return commitment(header.heat.challenge if header.heat else header.race, secret)


def is_heat_valid(header: Header) -> bool:
    """Return whether a header is valid for a heat, apart from what depends on the challenge's log."""
    heat, options = header.heat, header.options
    if heat is None or header.seed is not None or header.daily:
        return False
    is_named = re.fullmatch(rf"{heat.challenge}-[1-9][0-9]{{0,8}}", header.race)
    is_plain = not (header.follows or header.ghosts or header.head_start) and options.best_of == 1
    is_sealed = options.finishers == "none" and options.spectators != "open"
    return bool(is_named and is_plain and is_sealed) and heat.reveals_at >= heat.until + options.limit_ms

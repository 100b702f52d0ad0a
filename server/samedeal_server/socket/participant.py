"""Participant: a connection in a race, as the player in a seat or as a spectator."""

from collections.abc import Callable, Iterable, Sequence

from samedeal import codec
from samedeal.errors import Refused
from samedeal.game import Game
from samedeal.race.events import AnyEvent, Entry, Joined
from samedeal.race.race import Race
from samedeal.wire import messages as m
from samedeal.wire import views
from samedeal.wire.close_codes import CloseCode
from samedeal.wire.requests import SeatRequest, seat_events
from samedeal_server.live.broadcast import Update, update_after
from samedeal_server.live.commands import Proposal
from samedeal_server.live.hosting import reserve_deal
from samedeal_server.live.room import Room
from samedeal_server.socket.login import Login
from samedeal_server.socket.outbox import REPLACED, Outbox


class Participant:
    """Listens to a race, makes the requests from a seat, and creates the messages about the race."""

    __slots__ = (
        "_connected_seat",
        "_connection",
        "_form",
        "_guidance",
        "_last",
        "_legal",
        "_outbox",
        "_released",
        "_taken",
        "_takes_reactions",
        "_wants_changes",
        "leaving",
        "room",
        "seat",
    )  # fmt: skip

    def __init__(
        self,
        room: Room,
        request: m.Join | m.Watch,
        login: Login,
        outbox: Outbox,
        form: codec.Form,
        *,
        released: Callable[[int, str], None],
        seat: int | None = None,
        taken: int = 0,
    ) -> None:
        """`request` is the one with which the connection enters the race, and `taken` the number of the entry with
        which it took the `seat`. `released` is called with how to close the connection when another process has
        released the seat.
        """
        self.room, self.seat = room, seat
        self.leaving = False
        """Whether the player is about to lose the seat."""
        self._connection, self._outbox, self._form = login.connection, outbox, form
        self._taken, self._released = taken, released
        self._connected_seat = seat  # the seat that the room counts as connected, even after leaving it
        self._guidance, self._takes_reactions = m.GUIDANCE in login.features, m.REACTIONS in login.features
        self._legal = isinstance(request, m.Join) and request.legal
        self._wants_changes = isinstance(request, m.Join) and request.views == "changes"
        self._last: Game | None = None  # the position in the last board, if changes will refer to it
        room.broadcast.add(self, login.guest.player if login.guest else None)
        if seat is not None:
            room.connect(seat, taken)

    def leave(self) -> None:
        """Stop listening. The seat is held for a while."""
        self.room.broadcast.remove(self)
        if self._connected_seat is not None:
            self.room.disconnect(self._connected_seat, self._taken)
        self._outbox.discard_update()

    @property
    def is_watching(self) -> bool:
        return self.seat is None

    # Listening.

    def on_entries(self, race: Race, entries: Sequence[Entry]) -> None:
        """Send an update of the race, encoded when it can be sent. Close if the seat was lost."""
        if entries and self.seat is not None and not self.owns_seat(race) and not self._took_again(race, entries):
            self._outbox.close(*REPLACED)
            return
        has_lost_seat = entries and self.seat is not None and race.seats[self.seat - 1].left
        if has_lost_seat and not (self.leaving or self.room.is_replaced):
            # Another process released it, for a ban or assuming that this one had died. In a heat, the player may have
            # taken a seat in another one, and must not return by itself.
            again = CloseCode.TRY_AGAIN_LATER, "the seat was released; join again"
            self._released(*(REPLACED if race.header.heat else again))
            return
        if update := update_after(race, entries, self.seat):
            self._outbox.update(update)

    def on_progress(self, race: Race) -> None:
        """Send an update of the standings, ghosts and number of watchers."""
        self._outbox.update("progress")

    def on_reaction(self, reaction: m.Reaction) -> None:
        """Send another racer's reaction. The racer who sent it gets it as the response."""
        if self._takes_reactions and reaction.seat != self.seat:
            self._outbox.offer(codec.encode(reaction, self._form))

    def on_dropped(self) -> None:
        """Close, because this process cannot continue the race."""
        self._outbox.close(CloseCode.TRY_AGAIN_LATER, "the race cannot continue here; join again")

    # The seat.

    def owns_seat(self, race: Race) -> bool:
        """Return whether no other connection has taken this connection's seat; it may have left the seat itself."""
        seat = race.seats[self.seat - 1] if self.seat and self.seat <= len(race.seats) else None
        return seat is not None and seat.taken == self._taken

    def proposal(self, request: SeatRequest, client: str) -> Proposal:
        """Return what a request from the seat proposes. `client` is the client's network. Raises Refused."""
        if (number := self.seat) is None:
            raise Refused("not-seated", "Join a race first.")

        def proposal(race: Race) -> Iterable[AnyEvent]:
            if not self.owns_seat(race):
                raise Refused("replaced")
            events = seat_events(race, number, request)
            if isinstance(request, m.Ready) and request.ready and events:
                reserve_deal(self.room, race, events, client)
            return events

        return proposal

    def reaction(self, request: m.React) -> m.Reaction:
        """Return the reaction that the racer sends. Raises Refused."""
        race = self.room.race
        if self.seat is None or race.seats[self.seat - 1].left:
            raise Refused("not-seated", "Only racers with a seat can send reactions.")
        if not self.owns_seat(race):
            raise Refused("replaced")
        return m.Reaction(race=race.id, seat=self.seat, reaction=request.reaction)

    def _took_again(self, race: Race, entries: Sequence[Entry]) -> bool:
        """Return whether this connection itself has taken its seat again, by joining with another commitment."""
        seat = next(iter(race.seats[(self.seat or 1) - 1 :]), None)  # the log can lose seats
        event = next((entry.event for entry in entries if seat and entry.n == seat.taken), None)
        if seat is None or not isinstance(event, Joined) or event.by != self._connection:
            return False
        self.room.disconnect(seat.number, self._taken)
        self._taken = seat.taken
        self.room.connect(seat.number, seat.taken)
        return True

    # Messages.

    def view(self, re: int | None = None, *, header: bool = False) -> m.View:
        """Return the view for the seat, or for a spectator."""
        if self.seat is not None and self.room.race.seats[self.seat - 1].left:
            self.seat = None
        if self._wants_changes:
            self._last = self._position()
        return self.room.view(self.seat, re=re, legal=self._legal, guidance=self._guidance, header=header)

    def answer(self, re: int) -> m.View | m.Changes:
        """Return the answer to a move: what it has changed since the last board if that is enough, or the view."""
        if self._last is not None and self.seat is not None:
            race, options = self.room.race, {"legal": self._legal, "guidance": self._guidance}
            if changes := views.changes(race, self.seat, self._last, re=re, **options):
                self._last = self._position()
                return changes
        return self.view(re)

    def encode_update(self, update: Update) -> bytes:
        """Encode the view, or only the progress. All encodings except a player's own view are shared."""
        race = self.room.race
        is_view = update == "view" or views.sees_boards(race, self.seat)

        def encode() -> bytes:
            return codec.encode(self.view() if is_view else self.room.progress(self.seat), self._form)

        if self.seat is not None and is_view:
            return encode()
        kind = self._form, is_view, self.seat is None, is_view and self._guidance
        return self.room.broadcast.shared_encoding(race, kind, encode)

    def _position(self) -> Game | None:
        run = self.room.race.seats[self.seat - 1].run if self.seat else None
        return run.game if run else None

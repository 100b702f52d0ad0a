"""Connection views: the views for one connection, with what it has requested, and what its moves change."""

from collections.abc import Callable

from samedeal import codec
from samedeal.game import Game
from samedeal.wire import views
from samedeal.wire.messages import Changes, Join, View, Watch
from samedeal_server.live.broadcast import Update
from samedeal_server.live.room import Room


class ConnectionViews:
    """The views of one race for one connection, in the order in which they are sent."""

    __slots__ = ("_guidance", "_last", "_legal", "_wants_changes")

    def __init__(self, request: Join | Watch | None = None, *, guidance: bool = False) -> None:
        """`request` is the one with which the connection entered the race, if it has."""
        self._guidance = guidance
        self._legal = isinstance(request, Join) and request.legal
        self._wants_changes = isinstance(request, Join) and request.views == "changes"
        self._last: Game | None = None  # the position in the last board, if changes will refer to it

    def view(self, room: Room, seat: int | None, re: int | None = None, *, header: bool = False) -> View:
        """Return the view for a seat, or for a spectator (None)."""
        if self._wants_changes and seat is not None:
            self._last = _position(room, seat)
        return room.view(seat, re=re, legal=self._legal, guidance=self._guidance, header=header)

    def changes(self, room: Room | None, seat: int | None, re: int) -> Changes | None:
        """Return what a move has changed since the last board, or None if the connection needs a view."""
        if self._last is None or room is None or seat is None:
            return None
        changes = views.changes(room.race, seat, self._last, re=re, legal=self._legal, guidance=self._guidance)
        if changes:
            self._last = _position(room, seat)
        return changes

    def encode_update(
        self, update: Update, room: Room, seat: int | None, form: codec.Form, view: Callable[[], View]
    ) -> bytes:
        """Encode the newest `view`, or only the progress. All encodings except a player's own view are shared."""
        race = room.race
        is_view = update == "view" or views.sees_boards(race, seat)

        def encode() -> bytes:
            return codec.encode(view() if is_view else room.progress(seat), form)

        if seat is not None and is_view:
            return encode()
        guided = is_view and self._guidance
        return room.broadcast.shared_encoding(race, (form, is_view, seat is None, guided), encode)


def _position(room: Room, seat: int) -> Game | None:
    run = room.race.seats[seat - 1].run
    return run.game if run else None

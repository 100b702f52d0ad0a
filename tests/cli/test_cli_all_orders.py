"""The full screen's state with keys, answers, broadcasts, losses and restorations in every order."""

from collections import deque
from itertools import count
from unittest.mock import patch

import pytest

from samedeal.race.standings import Standing
from samedeal.wire import messages as m
from samedeal.wire.documents import GameDescription
from samedeal_cli.state import race_keys, race_update
from samedeal_cli.state.race_commands import PlayMove, Step
from samedeal_cli.state.race_keys import MAX_QUEUED_KEYS, on_key
from samedeal_cli.state.race_state import RaceState
from support.all_orders import Cards, Client, Made, SlowServer, check_all_orders, settle, two_moves, unseen

KEY_NAMES = {"draw": "space", "undo": "backspace", "clear": "escape"}


class Key(str):
    """A key, with the table on the screen when it was pressed."""

    __slots__ = ("seen",)
    seen: Cards


class Terminal(Client):
    """The state of the full screen, and what its tasks and connection do with it."""

    def __init__(self, server: SlowServer) -> None:
        super().__init__(server)
        race = server.log.race
        state = RaceState(race.id, "", "", header=race.header, game=GameDescription.of(race.game))
        self.state = race_update.update(state, *self._snapshot)
        self._ids = count(1)
        self._waiting: deque[str] = deque()
        self._in_flight: m.Move | None = None
        self._tasks: list[tuple[bool, str]] = []
        """For each message to handle: whether it answers the request in flight, and the refusal."""
        self._handled = 0

    def touch(self, place: str) -> None:
        self._press(self.state.selection.keys[place])

    def press(self, key: str) -> None:
        self._press(KEY_NAMES[key])

    def receive(self, message: m.FromServer) -> None:
        super().receive(message)
        refusal = message.detail if isinstance(message, m.Problem) else ""
        answers = bool(self._in_flight) and getattr(message, "re", None) is not None
        self._tasks.append((answers, refusal))

    def handle(self, which: int) -> bool:
        if not self._tasks:
            return False
        answers, refusal = self._tasks.pop(which % len(self._tasks))
        if refusal:
            self.state = race_update.move_refused(self.state, refusal)
        else:
            self.state = race_update.update(self.state, *self._snapshot)
            self._handle_queued_keys()
        if answers:
            self._in_flight = None
            self._send_next()
        return True

    def lose(self) -> None:
        while self.handle(0):
            pass

    def restore(self) -> None:
        super().restore()
        if self._in_flight:
            self.server.requests.append(self._in_flight)
        self._tasks.append((False, ""))

    def check(self, *, idle: bool) -> None:
        busy = self._in_flight or self._waiting or self._tasks
        assert busy or self.state.pending is None
        assert self.state.pending is not None or not self.state.queued_keys
        assert not (idle and busy)
        assert not unseen(self)

    @property
    def board(self) -> m.Board:
        assert self.state.view
        assert self.state.view.board
        return self.state.view.board

    @property
    def _snapshot(self) -> tuple[m.View, tuple[Standing, ...], int | None]:
        return self.live.view, self.live.standings, self.live.view.clock_ms

    def _press(self, name: str) -> None:
        key = Key(name)
        key.seen = self.board.table
        self._take(on_key(self.state, key), key)

    def _handle_queued_keys(self) -> None:
        waiting, self._handled = self.state.queued_keys, 0
        with patch.object(race_keys, "on_key", self._on_queued_key):
            after, command = race_keys.handle_queued_key(self.state)
        if len(after.queued_keys) < len(waiting) - self._handled:
            assert after.notice or not after.can_play, "the other keys were dropped silently"
        self._take((after, command), waiting[self._handled - 1].key if command else "")

    def _on_queued_key(self, state: RaceState, key: str) -> Step:
        self._handled += 1
        assert self._handled <= MAX_QUEUED_KEYS, "the queued keys are handled again and again"
        after, command = on_key(state, key)
        changed = (after.picks, after.queued_keys) != (state.picks, state.queued_keys)
        assert command or changed or after.notice, "a queued key was dropped silently"
        return after, command

    def _take(self, step: Step, key: str) -> None:
        self.state, command = step
        if isinstance(command, PlayMove):
            assert isinstance(key, Key)
            self.made.append(Made(command.move, key.seen))
            self._waiting.append(command.move)
            self._send_next()

    def _send_next(self) -> None:
        """Send the next move, unless one is in flight, and keep it until it is answered."""
        if self._in_flight or not self._waiting:
            return
        ply = self.live.view.board.ply if self.live.view.board else 0
        self._in_flight = m.Move(id=next(self._ids), move=self._waiting.popleft(), ply=ply)
        if self.server.up:
            self.server.requests.append(self._in_flight)


def test_every_order_of_keys_and_messages_ends_with_every_key_played_or_dropped_visibly() -> None:
    check_all_orders(Terminal)


def test_keys_that_are_typed_while_the_connection_is_lost_are_played() -> None:
    terminal = Terminal(SlowServer("corners", "1", 0))
    terminal.server.lose()
    terminal.lose()
    for _ in range(3):
        terminal.press("draw")
    settle(terminal)
    assert [made.move for made in terminal.made] == ["draw"] * 3


@pytest.mark.parametrize("slug", ["corners", "gallery", "kings-in-the-corners", "the-edge"])
def test_queued_keys_play_no_card_that_was_not_on_the_screen(slug: str) -> None:
    server = SlowServer(slug, "1", 0)
    moves = two_moves(server)
    terminal = Terminal(server)
    for move in moves:
        terminal.play(move)
    settle(terminal)
    assert not unseen(terminal)


def test_a_key_that_no_longer_fits_into_the_queue_is_dropped_visibly() -> None:
    terminal = Terminal(SlowServer("corners", "1", 0))
    for _ in range(MAX_QUEUED_KEYS + 2):
        terminal.press("draw")
    assert len(terminal.state.queued_keys) == MAX_QUEUED_KEYS
    assert terminal.state.notice

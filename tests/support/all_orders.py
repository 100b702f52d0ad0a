"""A race whose messages wait, and a client of it: keys, answers, broadcasts and losses come in any order.

FUZZ_EXAMPLES is the number of generated orders (``make fuzz``).
"""

import os
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from random import Random
from typing import Final, NamedTuple

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.race.events import Closed, Moved
from samedeal.race.race import Race
from samedeal.wire import messages as m
from samedeal.wire.requests import seat_events
from samedeal.wire.views import progress, view
from samedeal_cli.net.live_view import LiveView
from samedeal_cli.state.selection import Selection
from support.finished_races import SECRET, Logged
from support.races_by_hand import run_of, running

EXAMPLES: Final = int(os.environ.get("FUZZ_EXAMPLES", "100"))
KEYS: Final = ("draw", "undo", "clear")
"""The keys and buttons that pick no pile."""
Cards = Mapping[str, Sequence[str]]
"""The piles of a table by place."""
number = st.integers(0, 99)


class Made(NamedTuple):
    """A move that a client has made, and the table on the screen when its key was pressed."""

    move: str
    seen: Cards


def make_some_move(log: Logged, seat: int, random: Random) -> None:
    """Let a seat make a random legal move, if it has one."""
    if not log.race.closed and (moves := run_of(log.race, seat).game.moves()):
        log.say(Moved(seat=seat, move=random.choice(moves)), 10)


@cache
def raced(slug: str, seed: str, steps: int) -> Race:
    """Return a race of two after some random moves of each."""
    log, random = running(slug=slug, seed=seed), Random(seed)
    for seat in (1, 2) * steps:
        make_some_move(log, seat, random)
    return log.race


class SlowServer:
    """A running race of two. Requests and answers wait here until they are served, or arrive."""

    def __init__(self, slug: str, seed: str, steps: int) -> None:
        self.random = Random(seed)
        self.log = Logged(raced(slug, seed, steps))
        self.moves_before = len(run_of(self.log.race).moves)
        self.up = True
        self.requests: deque[m.Move] = deque()
        self.answers: deque[m.FromServer] = deque()
        self.served: dict[int, tuple[str, Cards | None]] = {}
        """The moves of the first seat by request, with the table before them, or None if they were refused."""

    def view(self, re: int | None = None) -> m.View:
        race = self.log.race
        return view(race, 1, race.at, re=re, legal=True, guidance=True, header=re is None)

    def serve(self) -> None:
        """Execute or refuse the oldest request."""
        request = self.requests.popleft()
        table = run_of(self.log.race).game.view()
        try:
            for event in seat_events(self.log.race, 1, request):
                self.log.say(event, 10)
        except Refused as refused:
            self.served.setdefault(request.id, (request.move, None))
            self.answers.append(m.Problem.of(refused, request.id))
        else:
            self.served.setdefault(request.id, (request.move, table))
            self.answers.append(self.view(request.id))

    def lose(self) -> None:
        """Lose the connection with everything that is on its way."""
        self.up = False
        self.requests.clear()
        self.answers.clear()


class Client(ABC):
    """A client's state. Its messages pass through the server's queues; `live` is what has arrived."""

    def __init__(self, server: SlowServer) -> None:
        self.server = server
        self.made: list[Made] = []
        self.live = LiveView()
        self.live.apply_view(server.view())
        game = server.log.race.game
        self.selection = Selection(layout=game.layout, stock=game.stock)

    @property
    def board(self) -> m.Board:
        """The board on the screen."""
        assert self.live.view.board
        return self.live.view.board

    def play(self, move: str) -> None:
        """Press the keys, or tap the piles, of a move."""
        places = self.selection.parse(move).places
        for place in places:
            self.touch(place)
        if not places:
            self.press("draw")

    @abstractmethod
    def touch(self, place: str) -> None:
        """Press the key of a pile, or tap it."""

    @abstractmethod
    def press(self, key: str) -> None:
        """Press one of KEYS."""

    def receive(self, message: m.FromServer) -> None:
        """Receive a message. Extend this."""
        if isinstance(message, m.View):
            self.live.apply_view(message)
        elif isinstance(message, m.Progress):
            self.live.apply_standings(message)

    def handle(self, _which: int) -> bool:
        """Let the client do something that a message has made possible. Return whether there was anything to do."""
        return False

    @abstractmethod
    def lose(self) -> None:
        """Notice that the connection is lost."""

    def restore(self) -> None:
        """Connect again, and send the requests without an answer again. Extend this."""
        self.live.apply_view(self.server.view())

    @abstractmethod
    def check(self, *, idle: bool) -> None:
        """Fail unless the state is consistent and, if `idle`, waits for nothing."""


class AllOrders(RuleBasedStateMachine):
    """A player, the network and a rival take turns in every order."""

    client_of: Callable[[SlowServer], Client]

    @initialize(slug=st.sampled_from([*GAMES]), seed=st.integers(1, 9), steps=st.sampled_from((0, 12, 40)))
    def deal(self, slug: str, seed: int, steps: int) -> None:
        self.server = SlowServer(slug, str(seed), steps)
        self.client = self.client_of(self.server)

    @rule(which=number)
    def play(self, which: int) -> None:
        if moves := self.client.board.moves:
            self.client.play(moves[which % len(moves)])

    @rule(which=number)
    def touch(self, which: int) -> None:
        places = self.client.selection.places
        self.client.touch(places[which % len(places)])

    @rule(key=st.sampled_from(KEYS))
    def press(self, key: str) -> None:
        self.client.press(key)

    @precondition(lambda self: self.server.requests)
    @rule()
    def serve(self) -> None:
        self.server.serve()

    @precondition(lambda self: self.server.answers)
    @rule()
    def arrive(self) -> None:
        self.client.receive(self.server.answers.popleft())

    @rule(which=number)
    def handle(self, which: int) -> None:
        self.client.handle(which)

    @precondition(lambda self: self.server.requests)
    @rule()
    def answer(self) -> None:
        """The oldest request is served, and everything that the server has sent arrives."""
        self.server.serve()
        while self.server.answers:
            self.client.receive(self.server.answers.popleft())

    @precondition(lambda self: self.server.up)
    @rule()
    def catch_up(self) -> None:
        settle(self.client)

    @rule()
    def rival_moves(self) -> None:
        make_some_move(self.server.log, 2, self.server.random)
        self._broadcast(progress(self.server.log.race, 1))

    @precondition(lambda self: len(self.server.served) > 3 and not self.server.log.race.closed)
    @rule()
    def time_is_up(self) -> None:
        log = self.server.log
        log.say(Closed(secret=SECRET.hex()), (log.race.ends_at or 0) - log.race.at)
        self._broadcast(self.server.view())

    @precondition(lambda self: self.server.up)
    @rule()
    def lose(self) -> None:
        self.server.lose()
        self.client.lose()

    @precondition(lambda self: not self.server.up)
    @rule()
    def restore(self) -> None:
        self.server.up = True
        self.client.restore()

    @invariant()
    def state_is_consistent(self) -> None:
        self.client.check(idle=False)
        if self.server.log.race.game is GAMES["corner-stones"]:  # the only game without hidden cards
            assert not unseen(self.client)

    def teardown(self) -> None:
        """Deliver everything: every move that was made has been executed once, in order, or was refused."""
        if not hasattr(self, "client"):
            return
        settle(self.client)
        served = self.server.served.values()
        assert [made.move for made in self.client.made] == [move for move, _ in served]
        own = [*run_of(self.server.log.race).moves][self.server.moves_before :]
        assert own == [move for move, before in served if before is not None]

    def _broadcast(self, message: m.FromServer) -> None:
        if self.server.up:
            self.server.answers.append(message)


def check_all_orders(client_of: Callable[[SlowServer], Client]) -> None:
    """Run a client in many orders, the same ones each time."""
    machine = type("AllOrdersOfClient", (AllOrders,), {"client_of": staticmethod(client_of)})
    chosen = settings(
        derandomize=True,
        max_examples=EXAMPLES,
        report_multiple_bugs=False,
        suppress_health_check=[HealthCheck.too_slow],
    )
    run_state_machine_as_test(machine, settings=chosen)


def settle(client: Client) -> None:
    """Deliver everything in order, and check that the client then waits for nothing."""
    server = client.server
    if not server.up:
        server.up = True
        client.restore()
    for _ in range(200):
        if server.requests:
            server.serve()
        elif server.answers:
            client.receive(server.answers.popleft())
        elif not client.handle(0):
            break
    client.check(idle=True)


def unseen(client: Client) -> list[str]:
    """Return the moves that were executed with a card that was not on the screen when the key was pressed."""
    parse = client.selection.parse
    moves = []
    for (move, before), (_, seen) in zip(client.server.served.values(), client.made, strict=False):
        places = () if before is None else parse(move).places[: 1 if parse(move).is_transfer else None]
        cards = [(before[place] or before["hand"])[-1] for place in places if before]
        if not {*cards} <= {card for pile in seen.values() for card in pile}:
            moves.append(move)
    return moves


def two_moves(server: SlowServer) -> tuple[str, str]:
    """Return two moves that are legal now, of which the second plays a hidden card once the first is made.

    The race is played up to such a position.
    """
    parse = Selection(layout=server.log.race.game.layout).parse
    while True:
        game = run_of(server.log.race).game
        for first in game.moves():
            after = game.after(first)
            for second in (move for move in game.moves() if move in after.moves()):
                choice = parse(second)
                if not choice.places or choice.is_group or {*choice.places} & {*parse(first).places}:
                    continue
                card = (after.view()[choice.places[0]] or after.view()["hand"])[-1]
                if all(card not in pile for pile in game.view().values()):
                    return first, second
        assert game.moves()
        make_some_move(server.log, 1, server.random)

"""``samedeal bot``: temporary errors are retried and do not count as refusals."""

import asyncio

import pytest
from msgspec import structs

from samedeal.errors import Refused
from samedeal.wire import messages as m
from samedeal_cli.bots import bot
from samedeal_cli.bots.bot import MAX_REFUSALS, RESIGN, Player, Refusal, State, play
from samedeal_cli.net.connection import Connection
from support.scripted_server import HEADER, RACE, Peer, server, view

pytestmark = pytest.mark.tier(2)

AWAY = m.Problem.of(Refused("store-unavailable", "The store does not answer."))
WRONG = m.Problem.of(Refused("illegal-move", "That is not a legal move."))


class Draws(Player):
    """Draws once, then resigns. Records everything it receives."""

    def __init__(self) -> None:
        self.states: list[State] = []
        self.refusals: list[str] = []

    async def choose(self, state: State) -> str:
        self.states.append(state)
        return "draw" if state.ply == 0 else RESIGN

    async def refused(self, refusal: Refusal) -> None:
        self.refusals.append(refusal.code)


async def raced(monkeypatch: pytest.MonkeyPatch, *answers: m.FromServer) -> tuple[Draws, list[m.ToServer]]:
    """A race in which the server sends these answers and then accepts everything."""
    monkeypatch.setattr(bot, "RETRY_S", 0.001)
    waiting = list(answers)

    async def script(peer: Peer) -> None:
        await peer.seat()
        ply = 0
        while True:
            request = await peer.hear()
            if waiting:
                answer = waiting.pop(0)
                ply = answer.board.ply if isinstance(answer, m.View) and answer.board else ply
                await peer.say(structs.replace(answer, re=request.id if isinstance(answer, m.Problem) else None))
                if isinstance(answer, m.View):
                    await peer.say(structs.replace(AWAY, re=request.id))
                continue
            if isinstance(request, m.Resign):
                await peer.say(structs.replace(view("over", ply), re=request.id))
                return
            ply += 1
            await peer.say(structs.replace(view("running", ply), re=request.id))

    player = Draws()
    async with server(script) as (url, received), Connection(url, RACE, name="ada", bot=True) as connection:
        await asyncio.wait_for(play(connection, player), 20)
    return player, received[2:]


async def test_bot_retries_while_store_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    player, received = await raced(monkeypatch, *[AWAY] * (MAX_REFUSALS + 5))
    assert player.refusals == []
    assert [state.ply for state in player.states] == [0, 1]
    moves = [request for request in received if isinstance(request, m.Move)]
    assert [(move.move, move.ply) for move in moves] == [("draw", 0)] * (MAX_REFUSALS + 6)
    assert isinstance(received[-1], m.Resign)


async def test_bot_does_not_repeat_a_move_that_was_made_despite_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    player, received = await raced(monkeypatch, view("running", 1))
    assert [request.move for request in received if isinstance(request, m.Move)] == ["draw"]
    assert [state.ply for state in player.states] == [0, 1]


async def test_bot_resigns_after_too_many_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    player, received = await raced(monkeypatch, *[WRONG] * MAX_REFUSALS)
    assert player.refusals == ["illegal-move"] * MAX_REFUSALS
    assert isinstance(received[-1], m.Resign)


async def test_bot_retries_resigning(monkeypatch: pytest.MonkeyPatch) -> None:
    _, received = await raced(monkeypatch, *[WRONG] * MAX_REFUSALS, AWAY, AWAY)
    assert [type(request) for request in received[-3:]] == [m.Resign] * 3


async def test_bot_waits_for_its_cards_while_another_racer_has_a_head_start() -> None:
    async def script(peer: Peer) -> None:
        join = await peer.welcome()
        await peer.say(structs.replace(view(), re=join.id, header=HEADER, board=None, waits_ms=5))
        await peer.say(view())
        for answer in (view("running", 1), view("over", 1)):
            request = await peer.hear()
            await peer.say(structs.replace(answer, re=request.id))

    player = Draws()
    async with server(script) as (url, received), Connection(url, RACE, name="ada", bot=True) as connection:
        await asyncio.wait_for(play(connection, player), 20)
    assert [type(request) for request in received[2:]] == [m.Move, m.Resign]
    assert [state.ply for state in player.states] == [0, 1]

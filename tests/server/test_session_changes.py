"""Clients that request changes get them in answer to their moves, and otherwise the same messages as all others."""

from typing import Any

import pytest
from msgspec import structs

from samedeal import codec
from samedeal.race.run import RESTART, UNDO
from samedeal.wire import messages as m
from samedeal.wire.views import apply
from support.logged_server import Line, LoggedServer
from support.sessions import alone, boarded, form, next_view, refused, server, viewed
from support.vectors import WINS

pytestmark = pytest.mark.tier(2)

__all__ = ["form", "server"]


def changed(answer: m.FromServer) -> m.Changes:
    assert isinstance(answer, m.Changes), answer
    return answer


def own(view: m.View) -> m.View:
    """The parts of a view that changes keep up to date."""
    return structs.replace(view, re=None, clock_ms=None, standings=(), header=None)


async def test_moves_are_answered_with_what_they_change(server: LoggedServer, form: codec.Form) -> None:
    async with await Line.open(server, form, "ada") as line:
        race = (await alone(line, server, "corner-stones")).race
        view = viewed(await line.ask("join", race=race, views="changes"))
        for step in range(12):
            board = view.board
            assert board
            assert board.moves
            move = UNDO if step % 5 == 3 else RESTART if step == 9 else board.moves[step % len(board.moves)]
            view = apply(view, changed(await line.ask("move", move=move, ply=board.ply)))
            full = viewed(await line.ask("join", race=race, views="changes"))  # which logs nothing
            assert own(view) == own(full)
        # The next changes refer to the last board, whatever was sent before it.
        assert boarded(await line.ask("join", race=race)).ply == 12
        assert boarded(await line.ask("move", move=RESTART, ply=12)).ply == 13


async def test_changes_have_only_the_piles_that_differ(server: LoggedServer, form: codec.Form) -> None:
    async with await Line.open(server, form, "ada") as line:
        race = (await alone(line, server)).race
        before = boarded(await line.ask("join", race=race, views="changes", legal=False))
        changes = changed(await line.ask("move", move="draw", ply=0))
        assert set(changes.board.table) == {"stock", "waste"}
        assert changes.board.table["stock"] == before.table["stock"][1:]
        assert changes.board.moves is None
        again = changed(await line.ask("move", move="draw", ply=0))  # repeated: it was made once
        assert (again.n, again.h, again.board) == (changes.n, changes.h, structs.replace(changes.board, table={}))
        assert refused(await line.ask("move", move="draw", ply=7), "stale-move")


async def test_reconnecting_and_the_end_lead_to_views(server: LoggedServer, form: codec.Form) -> None:
    win = WINS["corners"]
    race = server.create("corners", seed=win["seed"], max_racers=1, start_delay_ms=0)
    async with await Line.open(server, form) as line:
        welcome = await line.ask("hello", name="ada")
        assert isinstance(welcome, m.Welcome)
        await line.ask("join", race=race, views="changes")
        await line.ask("ready")
        await dealt(line, race)
        for ply, move in enumerate(win["moves"][:3]):
            changed(await line.ask("move", move=move, ply=ply))
    async with await Line.open(server, form) as line:
        await line.ask("hello", token=welcome.token)
        view = viewed(await line.ask("join", race=race, views="changes"))
        assert view.board
        assert view.board.ply == 3
        for ply, move in enumerate(win["moves"][3:-1], 3):
            view = apply(view, changed(await line.ask("move", move=move, ply=ply)))
        last = viewed(await line.ask("move", move=win["moves"][-1], ply=len(win["moves"]) - 1))
        assert (last.stage, boarded(last).outcome) == ("over", "won")


async def test_the_others_moves_are_reported_as_before(server: LoggedServer, form: codec.Form) -> None:
    race = server.create("corners", seed="1", max_racers=2, start_delay_ms=0)
    async with await Line.open(server, form, "ada") as ada, await Line.open(server, form, "bo") as bo:
        for line in (ada, bo):
            await line.ask("join", race=race, views="changes")
        for line in (ada, bo):
            await line.ask("ready")
        for line in (ada, bo):
            await dealt(line, race)
        changes = changed(await ada.ask("move", move="draw", ply=0))
        await until(bo, lambda message: isinstance(message, m.Progress) and message.n == changes.n)
        view = viewed(await ada.ask("resign"))
        assert boarded(await next_view(bo, lambda later: later.n == view.n)).ply == 0
        changes = changed(await bo.ask("move", move="draw", ply=0))
        await until(bo, lambda message: isinstance(message, m.Progress) and message.n == changes.n)  # its own standing


async def dealt(line: Line, race: str) -> None:
    while viewed(await line.ask("join", race=race, views="changes")).board is None:
        continue


async def until(line: Line, true: Any) -> m.FromServer:
    """Return the first message that satisfies a condition."""
    while not true(message := await line.hear()):
        continue
    return message


async def test_other_values_are_refused(server: LoggedServer, form: codec.Form) -> None:
    async with await Line.open(server, form, "ada") as line:
        assert refused(await line.ask("join", race="calm-otter-42", views="some"), "bad-message", "$.views")

"""Sessions carry out the requests of players and spectators, each at its stage of the race."""

import asyncio
from typing import Any

import pytest

from samedeal import codec, commitments
from samedeal.wire import messages as m
from support.logged_server import Line, LoggedServer
from support.sessions import alone, boarded, next_view, refused, server, strict, viewed
from support.waiting import LIMIT_S

pytestmark = pytest.mark.tier(2)

__all__ = ["server", "strict"]

NONCE, HEX = "5c" * 32, "0f" * 32


@pytest.fixture
def form() -> codec.Form:
    """The encoding of all messages; test_session_messages.py uses both."""
    return "msgpack"


async def test_requests_without_a_seat_are_refused(server: LoggedServer, form: codec.Form) -> None:
    requests: list[dict[str, Any]] = [
        {"t": "ready"},
        {"t": "ready", "ready": False},
        {"t": "nonce", "nonce": HEX},
        {"t": "move", "move": "draw", "ply": 0},
        {"t": "resign"},
        {"t": "leave"},
    ]
    async with await Line.open(server, form, "ada") as ada, await Line.open(server, form, "bo") as bo:
        view = await alone(ada, server)
        for asked in requests:
            assert refused(await bo.ask(**asked), "not-seated")
        assert viewed(await bo.ask("watch", race=view.race)).seat is None
        for asked in requests:
            assert refused(await bo.ask(**asked), "not-seated")
        assert viewed(await ada.ask("move", move="draw", ply=0)).n == view.n + 1


async def test_requests_are_refused_outside_their_stage(server: LoggedServer, form: codec.Form) -> None:
    """From the open race to its end, untimely requests are refused and change nothing."""
    race = server.create("corners", max_racers=2, start_delay_ms=400)
    promise = commitments.nonce_commitment(race, bytes.fromhex(NONCE))
    async with await Line.open(server, form, "ada") as ada, await Line.open(server, form, "bo") as bo:
        assert refused(await ada.ask("join", race=race), "nonce-mismatch")
        n = viewed(await ada.ask("join", race=race, commitment=promise)).n
        assert refused(await ada.ask("move", move="draw", ply=0), "untimely")
        assert refused(await ada.ask("resign"), "untimely")
        assert refused(await ada.ask("nonce", nonce=NONCE), "untimely")
        assert viewed(await ada.ask("ready")).n == n + 1
        assert viewed(await ada.ask("ready")).n == n + 1
        assert viewed(await ada.ask("ready", ready=False)).n == n + 2
        assert viewed(await ada.ask("ready", ready=False)).n == n + 2
        assert viewed(await ada.ask("ready")).n == n + 3
        await bo.ask("join", race=race, commitment=promise)
        counting = viewed(await bo.ask("ready"))
        assert counting.stage == "countdown"
        assert refused(await ada.ask("ready", ready=False), "untimely")
        assert refused(await ada.ask("leave"), "untimely")
        assert refused(await ada.ask("move", move="draw", ply=0), "untimely")
        assert refused(await ada.ask("nonce", nonce=HEX), "nonce-mismatch")
        opened = viewed(await ada.ask("nonce", nonce=NONCE)).n
        assert opened == counting.n + 1
        assert viewed(await ada.ask("nonce", nonce=NONCE)).n == opened
        assert refused(await ada.ask("nonce", nonce=HEX), "untimely")
        assert (await next_view(ada, lambda view: view.stage != "countdown")).stage == "running"
        assert refused(await bo.ask("move", move="draw", ply=0), "not-playing", "scratched")
        assert refused(await bo.ask("nonce", nonce=NONCE), "untimely")
        assert refused(await ada.ask("leave"), "untimely")
        assert refused(await ada.ask("nonce", nonce=HEX), "untimely")
        n = viewed(await ada.ask("join", race=race)).n
        over = viewed(await ada.ask("resign"))
        assert (over.stage, over.n) == ("over", n + 2)
        assert viewed(await ada.ask("resign")).n == over.n
        assert refused(await ada.ask("move", move="draw", ply=0), "race-over")
        assert refused(await ada.ask("ready", ready=False), "race-over")
        assert refused(await ada.ask("leave"), "race-over")
        assert refused(await bo.ask("resign"), "race-over")
        assert viewed(await bo.ask("join", race=race)).n == over.n
    async with await Line.open(server, form, "cy") as cy:
        assert refused(await cy.ask("join", race=race, commitment=promise), "race-over")
        assert viewed(await cy.ask("watch", race=race)).n == over.n


async def test_an_illegal_move_is_refused_with_the_rule_and_changes_nothing(
    server: LoggedServer, form: codec.Form
) -> None:
    async with await Line.open(server, form, "ada") as line:
        view = await alone(line, server)
        board = boarded(view)
        assert board.moves is not None
        for move, words in [
            ("redeal", "You can redeal only when the stock is empty."),
            ("w", "That place is empty."),
            ("undo", "There is nothing to undo"),
            ("restart", "There is nothing to restart"),
            ("Draw", ""),
            ("draw,draw", ""),
            ("__class__", ""),
            ("%s", ""),
            ("\x7e" * 64, ""),
        ]:
            assert refused(await line.ask("move", move=move, ply=0), "illegal-move", words)
        again = viewed(await line.ask("join", race=view.race))
        assert (again.n, again.h, again.board) == (view.n, view.h, view.board)


async def test_a_repeated_move_is_made_once(server: LoggedServer, form: codec.Form) -> None:
    async with await Line.open(server, form, "ada") as line:
        view = await alone(line, server)
        sent = line.written({"t": "move", "id": 8, "move": "draw", "ply": 0})
        answers = []
        for _ in range(3):
            await line.send(sent)
            answers.append(viewed(await line.answer(8)))
        assert [(answer.n, answer.board) for answer in answers] == [(view.n + 1, answers[0].board)] * 3
        for _ in range(20):  # all at once
            await line.send(line.written({"t": "move", "id": 9, "move": "draw", "ply": 1}))
        assert [viewed(await line.answer(9)).n for _ in range(20)] == [view.n + 2] * 20
        assert refused(await line.ask("move", move="undo", ply=1), "stale-move")
        assert refused(await line.ask("move", move="draw", ply=3), "stale-move")
        assert refused(await line.ask("move", move="draw", ply=2**31), "stale-move")
        last = viewed(await line.ask("move", move="draw", ply=0))
        assert (last.n, boarded(last).ply) == (view.n + 2, 2)
        await line.ask("resign")
    replay = await server.replay(view.race)
    assert [entry.event.move for entry in replay.entries if hasattr(entry.event, "move")] == ["draw", "draw"]


async def test_options_can_forbid_undo_and_restart(server: LoggedServer, form: codec.Form) -> None:
    async with await Line.open(server, form, "ada") as line:
        for options in ({"undo": False}, {"attempts": 1}):
            moves = boarded(await alone(line, server, "corner-stones", **options)).moves
            assert moves
            board = boarded(await line.ask("move", move=moves[0], ply=0))
            forbidden = "undo" if "undo" in options else "restart"
            assert getattr(board, forbidden) is False
            allowed = {"undo", "restart"} - {forbidden}
            assert refused(await line.ask("move", move=forbidden, ply=1), "not-allowed")
            assert boarded(await line.ask("move", move=allowed.pop(), ply=1)).ply == 2


async def test_joining_again_with_another_commitment_keeps_the_connection(
    server: LoggedServer, form: codec.Form
) -> None:
    race = server.create("corners", max_racers=2)
    first, second = (commitments.nonce_commitment(race, bytes.fromhex(nonce)) for nonce in (NONCE, HEX))
    async with await Line.open(server, form, "ada") as ada:
        seat = viewed(await ada.ask("join", race=race, commitment=first)).seat
        assert viewed(await ada.ask("join", race=race, commitment=second)).seat == seat
        assert viewed(await ada.ask("ready")).seat == seat


async def test_joining_again_keeps_the_seat(server: LoggedServer, form: codec.Form) -> None:
    async with await Line.open(server, form, "ada") as line:
        view = await alone(line, server)
        for _ in range(3):
            again = viewed(await line.ask("join", race=view.race))
            assert (again.n, again.seat, again.board) == (view.n, 1, view.board)
        assert boarded(await line.ask("join", race=view.race, legal=False)).moves is None
        assert viewed(await line.ask("move", move="draw", ply=0)).n == view.n + 1


async def test_spectators_can_join_and_racers_can_watch(server: LoggedServer, form: codec.Form) -> None:
    race = server.create("corners", seed="1", max_racers=2, start_delay_ms=0)
    async with await Line.open(server, form, "ada") as ada, await Line.open(server, form, "bo") as bo:
        assert viewed(await ada.ask("watch", race=race)).seat is None
        assert viewed(await ada.ask("join", race=race)).seat == 1
        await bo.ask("join", race=race)
        await bo.ask("ready")
        assert boarded(await ada.ask("ready")).ply == 0
        watching = viewed(await ada.ask("watch", race=race))
        assert (watching.seat, watching.board) == (None, None)
        assert refused(await ada.ask("move", move="draw", ply=0), "not-seated")
        back = viewed(await ada.ask("join", race=race))
        assert (back.seat, back.n) == (1, watching.n + 1)
        assert viewed(await ada.ask("move", move="draw", ply=0)).n == back.n + 1


async def test_players_who_leave_watch_and_can_rejoin(server: LoggedServer, form: codec.Form) -> None:
    race = server.create("corners", seed="1", max_racers=2)
    async with await Line.open(server, form, "ada") as ada, await Line.open(server, form, "bo") as bo:
        await bo.ask("join", race=race)
        for _ in range(3):
            assert viewed(await ada.ask("join", race=race)).seat == 2
            left = viewed(await ada.ask("leave"))
            assert (left.seat, [standing.name for standing in left.standings]) == (None, ["bo"])
            assert refused(await ada.ask("leave"), "not-seated")
            assert refused(await ada.ask("ready"), "not-seated")
            assert isinstance(await ada.ask("ping"), m.Pong)
        n = viewed(await bo.ask("ready")).n
        assert (await next_view(ada, lambda view: view.n >= n)).seat is None


async def test_disconnected_players_do_not_delay_the_countdown(strict: LoggedServer, form: codec.Form) -> None:
    race = strict.create("corners", seed="1", max_racers=3)
    async with await Line.open(strict, form) as ada:
        welcome = await ada.ask("hello", name="ada")
        assert isinstance(welcome, m.Welcome)
        await ada.ask("join", race=race)
    async with await Line.open(strict, form, "bo") as bo:
        await bo.ask("join", race=race)
        async with await Line.open(strict, form) as again:
            await again.ask("hello", token=welcome.token)
            assert viewed(await again.ask("join", race=race)).seat == 1
            await asyncio.sleep(0.4)  # longer than a disconnected seat is held
            assert len(viewed(await bo.ask("ready")).standings) == 2
        async with await Line.open(strict, form, "cy") as cy:
            await cy.ask("join", race=race)
            await cy.ask("ready")
            view = await next_view(bo, lambda view: view.stage != "open")
        assert [standing.name for standing in view.standings] == ["bo", "cy"]


async def test_a_refused_join_keeps_the_previous_seat(server: LoggedServer, form: codec.Form) -> None:
    async with await Line.open(server, form, "ada") as ada, await Line.open(server, form, "bo") as bo:
        full, own = await alone(ada, server), await alone(bo, server)
        assert refused(await bo.ask("join", race=full.race), "untimely")
        waiting = server.create("corners", seed="1", max_racers=1)
        assert viewed(await ada.ask("join", race=waiting)).seat == 1
        assert refused(await bo.ask("join", race=waiting), "race-full")
        moved = viewed(await bo.ask("move", move="draw", ply=0))
        assert (moved.race, moved.n) == (own.race, own.n + 1)


async def test_a_connection_can_switch_races(server: LoggedServer, form: codec.Form) -> None:
    async with await Line.open(server, form, "ada") as line:
        first = await alone(line, server)
        second = await alone(line, server)
        moved = viewed(await line.ask("move", move="draw", ply=0))
        assert (moved.race, moved.n) == (second.race, second.n + 1)
        back = viewed(await line.ask("join", race=first.race))
        assert (back.race, boarded(back).ply) == (first.race, 0)
        assert viewed(await line.ask("move", move="draw", ply=0)).race == first.race


async def test_the_deal_is_sent_even_if_a_request_is_refused_meanwhile(server: LoggedServer) -> None:
    """An update is not lost if a request is refused at the same time."""
    race = server.create("corners", seed="1", max_racers=1, start_delay_ms=60)
    async with await Line.open(server, "json", "ada") as line:
        await line.ask("join", race=race)
        await line.ask("ready")
        number = 1000
        seen: m.Board | None = None
        async with asyncio.timeout(LIMIT_S):
            while seen is None:
                number += 1
                await line.send(line.written({"t": "nonce", "id": number, "nonce": HEX}))
                message = await line.hear()
                seen = message.board if isinstance(message, m.View) else None
        assert seen.moves

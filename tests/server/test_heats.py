"""Seats in the heats of a challenge: a player has one on each deal."""

import pytest

from samedeal.wire import messages as m
from samedeal.wire.close_codes import CloseCode
from support.contests import connected, guest, open_contest
from support.logged_server import Line, LoggedServer

pytestmark = pytest.mark.tier(2)


async def test_a_seat_in_another_lobby_on_the_deal_is_given_up(server: LoggedServer) -> None:
    ada = guest(server, "ada")[0]
    contest = open_contest(server, ["corners", "gallery"], ada)
    one, other, on_another_deal = (contest.heat(server, deal, max_racers=2) for deal in (1, 1, 2))
    async with await Line.open(server, "json") as old, await Line.open(server, "json") as new:
        for line in (old, new):
            assert isinstance(await line.ask("hello", token=ada, format=4), m.Welcome)
        assert isinstance(await old.ask("join", race=one), m.View)
        assert isinstance(await new.ask("join", race=other), m.View)
        assert await old.close_code() == CloseCode.REPLACED, "it would return, and take the seat in the other one"
        for race in (on_another_deal, one, other):  # with one connection
            view = await new.ask("join", race=race)
            assert isinstance(view, m.View)
            assert view.seat
        assert isinstance(await new.ask("ping"), m.Pong)
    async with connected(server, guest(server, "bo")[0]) as bo:
        view = await bo.join(other)
        assert isinstance(view, m.View)
        assert [standing.name for standing in view.standings] == ["ada", "bo"]


async def test_a_refused_seat_does_not_cost_another_one(server: LoggedServer) -> None:
    ada, bo = (guest(server, name)[0] for name in ("ada", "bo"))
    contest = open_contest(server, ["corners"], ada)
    mine, alone, together = contest.heat(server, 1, bo), contest.heat(server), contest.heat(server, max_racers=2)
    cy = guest(server, "cy")[0]
    async with connected(server, bo) as racer, connected(server, ada) as one, connected(server, cy) as other:
        for each in (one, other):
            assert isinstance(await each.join(together), m.View)
        assert isinstance(await racer.join(mine), m.View)
        for race in (alone, together):
            refused = await racer.join(race)
            assert isinstance(refused, m.Problem)
            assert refused.code == "race-full"
        view = await racer.ask(m.Ready)
        assert isinstance(view, m.View)
        assert view.race == mine

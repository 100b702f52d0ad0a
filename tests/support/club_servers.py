"""Clubs on real servers, whose members race each other."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from typing import Any

import msgspec

from samedeal.replays.log_files import ClubLog, read_log_file
from samedeal.scores.club_scores import ClubScores
from samedeal.wire import messages as m
from samedeal.wire.documents import ClubPage
from support.contests import bearer, connected, guest, post
from support.logged_server import Answer, request
from support.servers import Server
from support.waiting import LIMIT_S


def found(server: Server, token: str, name: str = "Friday patience") -> ClubPage:
    answer = post(server, "/clubs", {"name": name}, token)
    assert answer.status == 201, answer.body
    return msgspec.json.decode(answer.body, type=ClubPage)


def get(server: Server, club: str, token: str, rest: str = "") -> Answer:
    return request(server, "GET", f"/api/v1/clubs/{club}{rest}", None, **bearer(token))


def preview(server: Server, club: ClubPage, invitation: str, token: str = "") -> Answer:
    """Ask for a club with an invitation, as a guest or without a token."""
    return post(server, f"/clubs/{club.club}/preview", {"invitation": invitation}, token)


def page(server: Server, club: str, token: str) -> ClubPage:
    """Return a club as a member sees it."""
    answer = get(server, club, token)
    assert answer.status == 200, answer.body
    return msgspec.json.decode(answer.body, type=ClubPage)


def scores(server: Server, club: str, token: str) -> ClubScores:
    answer = get(server, club, token, "/scores")
    assert answer.status == 200, answer.body
    return msgspec.json.decode(answer.body, type=ClubScores)


def log(server: Server, club: str, token: str) -> ClubLog:
    """Return the log of a club, which holds."""
    answer = get(server, club, token, "/log")
    assert answer.status == 200, answer.body
    read = read_log_file(answer.body)
    assert isinstance(read, ClubLog)
    read.verified()
    return read


def token_of(page: ClubPage) -> str:
    """Return the token of the invitation."""
    return (page.invitation or "").partition("#")[2]


def members(server: Server, *names: str) -> tuple[ClubPage, list[tuple[str, str]]]:
    """Start a club. Return it as its owner sees it, and the tokens and ids of its members."""
    people = [guest(server, name) for name in names]
    club = found(server, people[0][0])
    for token, _ in people[1:]:
        joined = post(server, f"/clubs/{club.club}/members", {"invitation": token_of(club)}, token)
        assert joined.status == 200, joined.body
    return page(server, club.club, people[0][0]), people


def open_race(server: Server, club: str, token: str, game: str = "corners", **options: Any) -> Answer:
    return post(server, "/races", {"game": game, "club": club, "options": {"start_delay_ms": 0, **options}}, token)


async def race(server: Server, club: str, tokens: Sequence[str], game: str = "corners") -> str:
    """Open a race in a club and race it: everybody resigns after as many moves as there are racers before them."""
    opened = await asyncio.to_thread(open_race, server, club, tokens[0], game, filter="any", max_racers=len(tokens))
    assert opened.status == 201, opened.body
    race_id: str = opened.json["race"]
    await take_part(server, race_id, tokens)
    return race_id


async def take_part(server: Server, race_id: str, tokens: Sequence[str]) -> None:
    """Race a race that is open, until it is over."""
    async with AsyncExitStack() as stack:
        racers = [await stack.enter_async_context(connected(server, token)) for token in tokens]
        for racer in racers:
            assert isinstance(await racer.join(race_id), m.View)
        for racer in racers:
            await racer.ask(m.Ready)
        await asyncio.gather(*(racer.dealt() for racer in racers))
        for number, racer in enumerate(racers):
            for _ in range(number):
                assert isinstance(await racer.move((racer.board.moves or [])[0]), m.View)
            await racer.ask(m.Resign)
        for racer in racers:
            await racer.until(lambda view: view.stage == "over")


async def once_finished(server: Server, club: str, token: str, races: int) -> ClubScores:
    """Return the scores of a club once that many of its deals count for somebody."""
    return await _once(
        lambda found: max((row.races for row in found.tables[-1].rows), default=0) >= races, server, club, token
    )


async def once_rated(server: Server, club: str, token: str) -> ClubScores:
    """Return the scores of a club once the ratings are new, as they are soon after a server has started."""
    return await _once(lambda found: found.rated == found.n, server, club, token)


async def _once(true: Callable[[ClubScores], bool], server: Server, club: str, token: str) -> ClubScores:
    async with asyncio.timeout(LIMIT_S):
        while True:
            if true(found := await asyncio.to_thread(scores, server, club, token)):
                return found
            await asyncio.sleep(0.02)

"""Challenges on the command line, on the full screen and on the home screen, from the opening to the reveal."""

import json
import os
import time
from typing import Any

import pytest
from msgspec import structs

from cli.test_cli_completion import offered
from cli.test_cli_home import app_with
from cli.test_cli_race_app import application, until
from samedeal.race.challenge import HOUR_MS, ChallengeDeal, ChallengeHeader, Stage
from samedeal.race.events import Options
from samedeal.scores.field import DealResult, FieldRow
from samedeal.wire import messages as m
from samedeal.wire.documents import ChallengePage
from samedeal_cli.commands.home import _challenge_line
from samedeal_cli.net import guests
from samedeal_cli.net.http_api import Api, heat_request
from samedeal_cli.net.saved_challenges import FILE, MOST, SAVED_MS, SavedChallenge, save_challenge, saved_challenges
from samedeal_cli.settings import state_dir
from support.faulty_proxy import Proxy
from support.full_screen import shown
from support.offline_cli import said
from support.program import SAMEDEAL, ended, ran, started
from support.servers import racers
from support.terminals import at_a_terminal
from support.terminals import until as until_printed
from support.timed_server import TimedServer
from support.waiting import wait_until

pytestmark = [pytest.mark.usefixtures("on_timed"), pytest.mark.tier(2)]


def opened(*args: str) -> str:
    """Open a challenge as ada, on unfiltered deals, and return its id."""
    (link,), _ = said("challenge", *args, "--filter", "any", "--limit", "2m", "--as", "ada")
    return link.rpartition("/")[2]


def raced(timed: TimedServer, challenge: str, name: str, *args: str) -> str:
    """Play a deal of a challenge through a pipe, wait until the race counts, and return what was printed."""
    done = ran("play", challenge, "--as", name, "--line", *args, typed="resign\n")
    guest = guests.find(timed.url, name)
    assert guest

    def are_counted() -> bool:
        page = Api(timed.url).challenge(challenge, guest.token)
        return [result and result.race for result in page.yours] == [*page.counts]

    wait_until(are_counted)
    return done.stdout + done.stderr


# The commands.


@pytest.mark.tier(1)
def test_a_challenge_is_played_sealed_and_revealed(timed: TimedServer) -> None:
    options = ("--until", "1h", "--filter", "any", "--limit", "2m", "--as", "ada")
    (link,), err = said("challenge", "corners", *options)
    challenge = link.rpartition("/")[2]
    assert link.startswith(f"{timed.url}/c/")
    assert "Corners: share the link with your friends. Open until " in err
    assert f" play {link}" in err

    text = raced(timed, challenge, "ada")
    assert "Only your first race on this deal of Corners counts." in text
    assert f"deal 1 of challenge {'-'.join(challenge.split('-')[:3])}, time limit 2:00" in text
    assert "the deal and the replay are secret until " in text
    assert f" challenge {link}" in text
    assert "rematch" not in text
    assert "corners:" not in text
    assert "You have already raced this deal of Corners, and only the first" in raced(timed, challenge, "ada")

    lines, _ = said("challenge", link, "--as", "bo")
    assert lines[0] == "ada challenges you to Corners"
    assert lines[1].endswith(" left; 1 has played")
    assert lines[2] == "1. Corners  1 has played"
    assert lines[3].endswith(", or until you have played every deal.")
    assert f" play {link}" in lines[4]
    lines, _ = said("challenge", challenge, "--as", "ada")
    assert "you: 0 of 48" in lines[2]
    assert lines[3].split()[:2] == ["1.", "ada"]
    assert not any(" play " in line for line in lines)
    page = json.loads(said("challenge", challenge, "--as", "bo", "--json")[0][0])
    assert (page["by"], page["results"], page["played"], page["secret"]) == ("ada", None, [1], None)

    timed.advance(3 * HOUR_MS)
    wait_until(lambda: Api(timed.url).challenge(challenge).stage == "revealed")
    lines, _ = said("challenge", challenge)
    assert lines[1].startswith("revealed, closed since ")
    assert " corners:" in lines[2]
    assert "the challenge is over" in said("play", challenge, "--as", "bo", code=4)[1]
    timed.advance(-3 * HOUR_MS)


def test_a_tournament_is_played_deal_by_deal(timed: TimedServer) -> None:
    challenge = opened("the-edge", "gallery", "--results-at-once", "--listed")
    listed = said("ls", "challenges", "--game", "gallery", "--limit", "1")[0][-1]
    assert listed.split()[:4] == [challenge, "2", "deals", "ada"]
    assert "deal 1 (The Edge) counts" in raced(timed, challenge, "bo")
    assert "deal 2 of challenge" in raced(timed, challenge, "bo")
    raced(timed, challenge, "cy", "--deal", "2")
    lines, _ = said("challenge", challenge)
    assert lines[0] == "ada challenges you to 2 deals"
    assert [line.split()[1] for line in lines if "point" in line] == ["bo", "cy"]
    assert [line.split()[-3:] for line in lines[2:4]] == [["1", "has", "played"], ["2", "have", "played"]]
    assert "the challenge has 2 deals" in said("play", challenge, "--deal", "3", "--as", "cy", code=2)[1]


def test_play_returns_to_the_race_that_counts_and_others_join_it(timed: TimedServer) -> None:
    challenge = opened("corners")
    play = [*SAMEDEAL, "play", f"{timed.url}/c/{challenge}", "--max", "2", "--as", "bo", "--line"]
    with at_a_terminal(os.environ | {"TERM": "dumb"}, play) as (process, terminal):
        until_printed(terminal, "Only your first race on this deal of Corners counts. Play it now? [Y/n]: ")
        os.write(terminal, b"\n")
        until_printed(terminal, "ready? (y)")
        lines, _ = said("challenge", challenge)
        heat = next(line for line in lines if line.startswith("To race Corners with bo: ")).split()[-1]
        os.write(terminal, b"y\n")
        ran("join", heat, "--as", "cy", "--ready", typed="resign\n")
        until_printed(terminal, ": cy ")
        os.write(terminal, b"quit\n")
        assert process.wait(50) == 0
    done = ran("join", f"{timed.url}/c/{challenge}", "--as", "bo", typed="resign\n")
    assert f"race {heat.rpartition('/')[2]}, running" in done.stdout


def test_bots_race_in_challenges_and_wait_for_no_rematch(timed: TimedServer) -> None:
    challenge = opened("the-edge")
    opener = guests.find(timed.url, "ada")
    assert opener
    heat = Api(timed.url).open_race(heat_request(challenge, 1, 2), opener.token).race
    bots = [started(*SAMEDEAL, "bot", heat, "--speed", "1000", "--as", name) for name in ("robbie", "marvin")]
    assert all(f" in {heat}" in ended(bot) for bot in bots)
    assert [name for name, _ in offered("play", incomplete=challenge[:5])] == ["plain"]


@pytest.mark.parametrize(
    ("args", "named"),
    [
        (["challenge", "corners", "brave-otter-4217"], "name either games or one challenge"),
        (["challenge", "brave-otter-4217", "--until", "2h"], "they are fixed"),
        (["challenge", "http://127.0.0.1:1/r/calm-otter-42"], "name one challenge"),
        (["challenge", "cornerz"], "did you mean corner-stones?"),
        (["challenge", "corners", "--until", "30m"], "1h to 30d from now"),
        (["challenge", "corners", "--until", "2001-01-01 20:00"], "1h to 30d from now"),
        (["challenge", "corners", "--until", "tomorrow"], "not a valid duration"),
        (["play", "corners", "--max", "3"], "are for challenges"),
        (["watch", "http://127.0.0.1:1/c/calm-otter-42"], "not a valid race"),
    ],
)
def test_conflicting_arguments_exit_with_2(args: list[str], named: str) -> None:
    out, err = said(*args, code=2)
    assert (out, err.count("\n")) == ([], 1)
    assert named in err


def test_a_deadline_can_be_a_local_time(timed: TimedServer) -> None:
    at = int(time.time() // 60 * 60) + 86_400
    challenge = opened("corners", "--until", time.strftime("%Y-%m-%d %H:%M", time.localtime(at)), "--deals", "3")
    header = Api(timed.url).challenge(challenge).header
    assert abs(header.until - at * 1_000) < HOUR_MS
    assert len(header.deals) == 3


# The full screen.


async def test_a_heat_on_the_full_screen_over_a_slow_line(timed: TimedServer) -> None:
    challenge = opened("corners", "gallery")
    async with Proxy(timed.url, round_trip_ms=200) as slow, racers(timed, "bo") as (bo,):
        body = {"challenge": challenge, "deal": 1, "options": {"max_racers": 2, "start_delay_ms": 0}}
        opener = guests.find(timed.url, "ada")
        assert opener
        race = Api(timed.url).open_race(body, opener.token).race
        app = application(slow, race)
        async with app.run_test(size=(60, 20)) as pilot:
            await until(lambda: "Corners, deal 1 of challenge" in shown(app))
            assert "only your first race counts" in shown(app)
            assert "add bot" not in shown(app)
            await pilot.press("b", "c")
            assert app.dialog == ""
            await bo.join(race)
            await bo.ask(m.Ready)
            await pilot.press("r")
            await bo.dealt()
            await until(lambda: app.state.board)
            await bo.ask(m.Resign)
            await pilot.press("exclamation_mark", "y")
            await until(lambda: "n  Play the next deal" in shown(app))
            text = shown(app)
            assert "deal      secret until " in text
            assert "Rematch" not in text
            assert "copy result" not in text
            await pilot.press("n")
            await until(lambda: app.state.board and app.state.header and app.state.header.game == "gallery")
            await pilot.press("exclamation_mark", "y")
            await until(lambda: "You are 1st of 1 · deal 2 of challenge" in shown(app))
            assert "To see the challenge: samedeal challenge" in shown(app)
            await pilot.press("q")
    assert app.failure is None


# The home screen.


def page_with(
    *places: int, until_ms: int = 30 * HOUR_MS + HOUR_MS // 2, stage: Stage = "open", own: int = 0
) -> ChallengePage:
    """Return the page of a challenge on one deal for the player with the place `own`, or for one who has not played."""
    deals = [DealResult(place, 0.0, "lost", place, 48, 1, f"heat-{place}") for place in places]
    rows = [FieldRow(deal.place, "0", f"p{deal.place}", False, 0.0, 0, 1, (deal,)) for deal in deals]
    mine = next((deal for deal in deals if deal.place == own), None)
    until = time.time_ns() // 1_000_000 + until_ms
    deal = ChallengeDeal(game="corners", rules="corners/1", options=Options(limit_ms=1_000, spectators="after"))
    fixed: Any = {"challenge": "a-b-1", "creator": "0", "commitment": "0" * 64, "salt": "0" * 32}
    return ChallengePage(
        challenge="a-b-1",
        link="http://h/c/a-b-1",
        by="ada",
        header=ChallengeHeader(deals=(deal,), opened_at=0, until=until, **fixed),
        nonce="",
        stage=stage,
        reveals_at=until,
        names=[],
        players=len(rows),
        played=[len(rows)],
        heats=[],
        counts=[mine.race if mine else None],
        yours=[mine],
        results=rows,
        next=None,
        secret=None,
        codes=[None],
    )


def test_the_home_screen_shows_news_of_challenges() -> None:
    known = SavedChallenge("http://h", "a-b-1", "bo", 0)
    play, show = (
        ("play", "--as", "bo", "--", "http://h/c/a-b-1"),
        ("challenge", "--as", "bo", "--", "http://h/c/a-b-1"),
    )
    for page, text, urgent, words in (
        (page_with(1, 2), "ada: Corners · 30 h left · 2 have played", False, play),
        (page_with(1, until_ms=5 * HOUR_MS - 1), "4 h left to play · ada: Corners", True, play),
        (page_with(1, 2, own=2), "ada: Corners · 30 h left · 2 have played", False, show),
        (page_with(1, stage="closed"), "ada: Corners · over · 1 has played", False, show),
    ):
        assert _challenge_line(known, page) == (text, urgent, words)
    passed = _challenge_line(structs.replace(known, place=1, name=None), page_with(1, 2, own=2))
    assert passed == ("Somebody passed you: 2nd of 2 · ada: Corners", True, ("challenge", "--", "http://h/c/a-b-1"))


def test_few_challenges_are_kept_until_a_week_after_the_reveal() -> None:
    now = time.time_ns() // 1_000_000
    for number in range(MOST + 2):
        save_challenge(SavedChallenge("http://h", f"c-{number}", None, now, place=number))
    assert [each.challenge for each in saved_challenges()] == ["c-6", "c-5", "c-4", "c-3", "c-2"]
    save_challenge(SavedChallenge("http://h", "c-4", None, now))
    assert (saved_challenges()[0].challenge, saved_challenges()[0].place) == ("c-4", 4)
    save_challenge(SavedChallenge("http://h", "c-9", None, now - SAVED_MS - 1))
    assert "c-9" not in [each.challenge for each in saved_challenges()]
    (state_dir() / FILE).write_text("{")
    assert saved_challenges() == []


async def test_the_home_screen_offers_known_challenges_and_ignores_unreachable_ones(timed: TimedServer) -> None:
    challenge = opened("corners")
    save_challenge(SavedChallenge("http://127.0.0.1:1", "gone-1", None, saved_challenges()[0].reveals_at))
    app = app_with(timed.url, "ada")
    async with app.run_test(size=(60, 20)) as pilot:
        await until(lambda: "ada: Corners · 47 h left · nobody has played" in shown(app))
        await pilot.press("c")
        await until(lambda: "2  Open a challenge link" in shown(app))
        await pilot.press("1")
    assert app.home.chosen == ("play", "--as", "ada", "--", f"{timed.url}/c/{challenge}")

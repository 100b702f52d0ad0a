"""The commands with which people get to a race: ``play``, ``join`` without a race, and ``resume``."""

import asyncio
import json
import os
import re
from pathlib import Path

import pytest

from samedeal.wire import messages as m
from support.program import SAMEDEAL, ran
from support.servers import Server, begin_together, racers, resign_all
from support.terminals import at_a_terminal, until

pytestmark = pytest.mark.tier(2)


@pytest.fixture
def environment(live: Server, tmp_path: Path) -> dict[str, str]:
    """The environment of a user without a name, who has set a server."""
    return os.environ | {"HOME": str(tmp_path), "SAMEDEAL_SERVER": live.url, "TERM": "xterm"}


def test_play_opens_a_race_with_a_bot_and_the_usual_time_of_its_game(environment: dict[str, str]) -> None:
    done = ran("play", "--as", "zo", typed="resign\n", environment=environment)
    assert "time limit 2:00" in done.stdout
    assert "Deuce (beginner bot)" in done.stdout
    done = ran("play", "corners", "--as", "zo", typed="resign\n", environment=environment)
    assert "Corners, race" in done.stdout
    assert "time limit 6:00" in done.stdout
    assert "Deuce (beginner bot)" in done.stdout


async def test_play_joins_the_race_in_which_somebody_waits(environment: dict[str, str], live: Server) -> None:
    live.create("the-edge")  # nobody waits in this one
    async with racers(live, "mia") as (mia,):
        await mia.join(live.create("the-edge", start_delay_ms=0))
        await mia.ask(m.Ready)
        words = ("play", "--as", "zo")
        playing = asyncio.create_task(asyncio.to_thread(ran, *words, typed="resign\n", environment=environment))
        await mia.dealt()
        await mia.ask(m.Resign)
        assert "mia resigned" in (await playing).stdout


def test_resume_returns_to_the_race_in_which_the_user_has_a_seat(environment: dict[str, str], live: Server) -> None:
    assert "you have no running race" in ran("resume", code=2, environment=environment).stderr
    race = live.create("corners", seed="1", max_racers=1, start_delay_ms=0)
    ran("join", race, "--as", "zo", typed="draw\nquit\n", environment=environment)
    assert "you are zo, seat 1" in ran("resume", typed="quit\n", environment=environment).stdout
    ran("watch", live.create("corners"), typed="quit\n", environment=environment)
    ran("resume", typed="resign\n", environment=environment)
    assert "you have no running race" in ran("resume", code=2, environment=environment).stderr


@pytest.mark.parametrize(("answer", "end"), [(b"\n", "mia"), (b"n\n", "")])
async def test_who_comes_too_late_for_a_seat_can_watch(
    answer: bytes, end: str, environment: dict[str, str], live: Server
) -> None:
    race = live.create("corners", seed="1", max_racers=2, start_delay_ms=0)
    async with racers(live, "mia", "bo") as players:
        await begin_together(race, players)
        command = [*SAMEDEAL, "join", race, "--as", "zo", "--line"]
        with at_a_terminal(environment, command) as (process, terminal):
            asked = await asyncio.to_thread(until, terminal, "Watch it now? [Y/n]: ")
            assert re.search(rf"This race has started. To watch the race: \S*samedeal watch {live.url}/r/{race}", asked)
            assert "untimely" not in asked
            os.write(terminal, answer)
            if end:
                await asyncio.to_thread(until, terminal, "mia")
            await resign_all(players)
            assert process.wait(50) == (0 if end else 130)


def test_scripts_are_told_the_code_of_a_refusal(environment: dict[str, str]) -> None:
    assert ran("watch", "no-such-race", code=4, environment=environment).stderr.endswith(" (not-found)\n")
    with at_a_terminal(environment, [*SAMEDEAL, "watch", "no-such-race", "--line"]) as (process, terminal):
        shown = until(terminal, "not found")
        assert process.wait(50) == 4
    assert "(not-found)" not in shown
    failed = ran("watch", "no-such-race", "--json", code=4, environment=environment)
    assert json.loads(failed.stdout.splitlines()[-1])["code"] == "not-found"


@pytest.mark.parametrize(
    ("options", "ends"), [((), True), (("--wait-when-stuck",), False), (("--max", "1"), False), (("--daily",), False)]
)
def test_races_of_several_people_end_when_all_are_stuck(
    options: tuple[str, ...], ends: bool, environment: dict[str, str]
) -> None:
    opened = json.loads(ran("new", "corners", "--json", *options, environment=environment).stdout)
    assert opened["header"]["options"].get("end_when_stuck", False) is ends

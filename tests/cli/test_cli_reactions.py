"""Reactions in the terminal: keys, news, line mode, and a real server."""

import asyncio
import subprocess

import pytest
from msgspec import structs

from cli.test_cli_race_app import application, until
from samedeal.games.catalogue import GAMES
from samedeal.wire import messages as m
from samedeal.wire.messages import Reaction
from samedeal_cli.screen.race_view import draw_screen
from samedeal_cli.state.race_commands import Choose
from samedeal_cli.state.race_keys import on_key
from samedeal_cli.state.race_state import RaceState, state_of_next_race
from samedeal_cli.state.race_update import reaction_sent
from support.example_states import finished, lobby, racing
from support.full_screen import shown
from support.program import SAMEDEAL
from support.servers import Racer, Server

pytestmark = pytest.mark.tier(2)


async def test_racers_send_and_see_reactions(live: Server) -> None:
    race = live.create("corners", seed="42")
    app = application(live, race)
    bo = Racer("bo")
    bo.features = (m.REACTIONS,)
    await bo.connect(live)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(lambda: app.state.stage == "open")
        await bo.join(race)
        await pilot.press("ctrl+e")
        await until(lambda: "3  well played" in shown(app))
        await pilot.press("3")
        await until(lambda: "you: well played" in shown(app))
        while not isinstance(reaction := await bo.hear(), m.Reaction):
            pass
        assert reaction == m.Reaction(race=race, seat=1, reaction="well-played")
        assert isinstance(await bo.ask(m.React, reaction="laugh"), m.Reaction)
        await until(lambda: "bo: laugh" in shown(app))
    await bo.close()


def test_reactions_are_chosen_from_a_list_at_every_stage() -> None:
    for state in (lobby("corners"), racing("corners"), finished("corners")):
        same, choice = on_key(state, "ctrl+e")
        assert same is state
        assert isinstance(choice, Choose)
        assert choice.options["well played"](state) == (state, m.React(id=0, reaction="well-played"))


def toggled(state: RaceState) -> RaceState:
    """Hide or show reactions."""
    choice = on_key(state, "ctrl+e")[1]
    assert isinstance(choice, Choose)
    return [*choice.options.values()][-1](state)[0]


def test_reactions_are_one_line_of_news_unless_they_are_hidden() -> None:
    state = racing("corners")
    other = next(standing for standing in state.standings if standing is not state.me)
    reaction = Reaction(race=state.race_id, seat=other.seat, reaction="good-luck")
    assert [item.text for item in reaction_sent(state, reaction).news[len(state.news) :]] == [
        f"{other.name}: good luck"
    ]
    hidden = toggled(state)
    assert reaction_sent(hidden, reaction) == hidden
    assert reaction_sent(toggled(hidden), reaction).news
    assert not state_of_next_race(hidden, "calm-otter-2", "").reactions
    assert reaction_sent(state, structs.replace(reaction, seat=9)) == state


@pytest.mark.parametrize(("width", "height"), [(60, 20), (80, 24)])
def test_reactions_are_on_the_screen_at_every_size(width: int, height: int) -> None:
    for slug in GAMES:
        state = racing(slug, width, height)
        other = next(standing for standing in state.standings if standing is not state.me)
        reacted = reaction_sent(state, Reaction(race=state.race_id, seat=other.seat, reaction="good-luck"))
        shown = "\n".join(draw_screen(reacted, width, height).text())
        assert f"{other.name}: good luck" in shown


async def test_line_mode_sends_reactions_and_shows_those_of_others(live: Server) -> None:
    race = live.create("corners", seed="42")
    bo = Racer("bo")
    bo.features = (m.REACTIONS,)
    await bo.connect(live)
    await bo.join(race)
    command = [*SAMEDEAL, "join", f"{live.url}/r/{race}", "--as", "ada", "--no-ready"]
    program = await asyncio.create_subprocess_exec(*command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert program.stdin
    assert program.stdout
    program.stdin.write(b"react boo\nreact good luck\n")
    while not isinstance(reaction := await bo.hear(), m.Reaction):
        pass
    assert reaction == m.Reaction(race=race, seat=2, reaction="good-luck")
    assert isinstance(await bo.ask(m.React, reaction="wow"), m.Reaction)
    lines = list[str]()
    while ": bo: wow" not in lines:
        lines.append((await program.stdout.readline()).decode().rstrip())
    assert "no: The reactions are wave, good luck, well played, wow, laugh, oops." in lines
    program.stdin.close()
    await program.wait()
    await bo.close()

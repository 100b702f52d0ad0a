"""The moments of a race on the full screen: the lobby, changes of the lead, waiting, and winning."""

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from cli.test_cli_race_app import until
from cli.test_cli_race_view import text
from samedeal.games.catalogue import GAMES
from samedeal.race.events import ClubLink, HeadStart
from samedeal.scores.evening import Evening, EveningRow
from samedeal.scores.tallies import GameScores, Personal
from samedeal.wire.messages import Again, HeadStartFor, Host
from samedeal_cli.screen.race_screen import RaceScreen
from samedeal_cli.screen.race_view import draw_screen
from samedeal_cli.screen.running_view import instruction
from samedeal_cli.screen.texts import text_lines
from samedeal_cli.settings import Settings
from samedeal_cli.state.race_actions import working_actions
from samedeal_cli.state.race_commands import Choose, play
from samedeal_cli.state.race_keys import on_key
from samedeal_cli.state.race_state import Notice, QueuedKey, RaceState
from samedeal_cli.state.race_update import CONFETTI_FRAMES, move_refused, update
from support.example_states import LINK, RACE, finished, header, lobby, now, racing, standing
from support.full_screen import RaceApp, shown
from support.race_story import PLAYERS, Story, documents
from support.scripted_race import SERVER, ScriptedApi, ScriptedConnection

SIZES = [(60, 20), (80, 24), (100, 32), (200, 50)]
every_size = pytest.mark.parametrize("size", SIZES)


def rows_with_reverse(state: RaceState) -> set[int]:
    rows = draw_screen(state, state.width, state.height).grid
    return {number for number, row in enumerate(rows) if all(cell.style.reverse for cell in row)}


# The lobby.


@every_size
@pytest.mark.parametrize("slug", GAMES)
def test_the_lobby_teaches_the_game_and_shows_one_big_action(slug: str, size: tuple[int, int]) -> None:
    state = lobby(slug, *size)
    said = text(state)
    assert all(line in said for line in GAMES[slug].how)
    assert "r  Ready" in said
    assert "Waiting for you." in said
    assert on_key(state, "enter") == on_key(state, "r")
    ready = update(state, *now(slug, "open", "ready", cy="waiting"))
    assert "r  Ready" not in text(ready)
    assert on_key(ready, "enter")[1] is None
    assert "Waiting for cy." in text(ready)


def test_players_who_are_alone_and_ready_copy_the_link() -> None:
    state = lobby("corners")
    alone = replace(state, standings=(standing(2, "bo", "ready"),))
    assert "y  Copy the link for a friend" in text(alone)
    assert "7 empty seats" in text(alone)
    club = structs.replace(header("corners"), club=ClubLink(club="calm-fox-1", h="0" * 64))
    assert "y  Copy the link for another member of the club" in text(replace(alone, header=club))
    assert "Invite members of the club to Corners" in text(replace(alone, header=club))


def test_the_lobby_of_a_match_shows_its_score_and_all_options_on_request() -> None:
    state = lobby("corners", 100, 32)
    options = structs.replace(header("corners").options, best_of=3, end_when_stuck=True)
    rows = (
        EveningRow(place=1, player="a", seat=1, name="ada", bot=False, points=1, races=1, wins=1),
        EveningRow(place=2, player="b", seat=2, name="bo", bot=False, points=0, races=1, wins=0),
    )
    evening = Evening(races=("one",), table=rows, best_of={})
    match = replace(state, header=structs.replace(header("corners"), options=options, follows="one"), evening=evening)
    assert "Rematch: Corners" in text(match)
    assert "best of 3, ada 1 : 0 bo · 5 min · undo on · o options · i rules" in text(match)
    assert on_key(match, "o")[1] == "options"
    listed = "\n".join(line for line, _ in text_lines(match, "options", 78))
    assert "match       best of 3" in listed
    assert "early end   10 s after everyone is stuck" in listed
    assert "commitment  sha256 9f3c02b1" in listed


def test_the_lobby_says_whether_its_link_works_elsewhere() -> None:
    state = lobby("corners", 100, 32)
    assert "this machine only" not in text(state)
    assert "(this machine only)" in text(replace(state, link="http://127.0.0.1:8640/r/calm-otter-42"))


async def test_practice_in_the_lobby_ends_when_the_race_starts() -> None:
    story = Story("the-edge")
    connection = ScriptedConnection(story.header, PLAYERS[1], story.lobby())
    connect: Any = lambda _race, _watching: connection  # noqa: E731
    screen = RaceScreen(RaceState(RACE, SERVER, LINK), connect, ScriptedApi(documents(story.header)), Settings())
    app = RaceApp(screen)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(lambda: app.state.game and app.state.view)
        await pilot.press("p")
        await until(lambda: "The Edge · practice" in shown(app))
        await pilot.press("question_mark")
        await until(lambda: app.dialog == "TextDialog")
        connection.send(story.countdown())
        await until(lambda: app.dialog == "" and "starts in" in shown(app))
    assert app.failure is None


# The race.


def test_texts_name_places_by_their_keys_until_a_move_is_typed() -> None:
    state = replace(racing("corner-stones"), notice=Notice("K♦ does not follow K♦: d4 goes down.", "bad"))
    assert "✗ K♦ does not follow K♦: [v] goes down." in text(state)
    assert "c1" not in text(state)
    typing, command = on_key(state, "/")
    assert command == "type"
    assert "d4 goes down." in text(typing)
    assert "c1" in text(typing)
    assert not on_key(typing, "escape")[0].named


def test_a_pending_move_shows_its_keys_and_how_many_wait() -> None:
    moved, _ = play(racing("corner-stones"), "c1l1")
    assert "> [1] [2]" in text(moved)
    assert "> [1] [2] ⋯2" in text(replace(moved, queued_keys=(QueuedKey("3", None),) * 2))
    drawn, _ = play(racing("corners"), "draw")
    assert "> draw" in text(drawn)


def test_a_change_of_the_lead_flashes_unless_animation_is_off() -> None:
    view, (ada, own, cy), left = now("corners", "running", "playing", n=30)
    passed = (structs.replace(own, place=1, home=40), structs.replace(ada, place=2), cy)
    state = replace(racing("corners"), animation=True)
    flashing = update(state, view, passed, left)
    assert flashing.flash
    assert 0 in rows_with_reverse(flashing)
    assert 0 not in rows_with_reverse(replace(flashing, flash=False))
    assert not update(replace(state, animation=False), view, passed, left).flash
    tied = tuple(structs.replace(each, place=1) for each in passed)
    assert not update(state, view, tied, left).flash


def test_the_clock_can_be_hidden() -> None:
    state = racing("corners")
    assert "2:50" in text(state)
    hidden, _ = on_key(state, "ctrl+d")
    assert "2:50" not in text(hidden)
    assert text(on_key(hidden, "ctrl+d")[0]) == text(state)


def test_a_move_that_comes_after_the_end_leaves_no_notice() -> None:
    assert move_refused(racing("corners"), "The race is over.").notice
    assert move_refused(finished("corners"), "The race is over.").notice is None


@pytest.mark.parametrize("size", SIZES[1:])
def test_a_pile_of_corner_stones_stays_on_one_line(size: tuple[int, int]) -> None:
    state = racing("corner-stones", *size, steps=0)
    canvas = draw_screen(state, *size)
    for place in ("c1", "l1", "r4"):
        spot = canvas.spots[place]
        rows = [canvas.text()[row][spot.column : spot.column + spot.width] for row in range(spot.row, spot.row + 2)]
        assert "│" in rows[1] or not rows[1].strip()
    assert max(spot.column + spot.width for spot in canvas.spots.values()) <= size[0]


def test_standings_that_do_not_fit_on_one_line_are_counted_and_have_you() -> None:
    state = racing("corners", 60, 20)
    many = tuple(standing(seat, f"racer-{seat}", "playing") for seat in (1, *range(3, 9)))
    crowd = text(replace(state, standings=(*many, *(each for each in state.standings if each.seat == 2))))
    assert "▸2 you " in crowd.splitlines()[1]
    assert "+" in crowd.splitlines()[1]
    assert text(on_key(state, "tab")[0]).splitlines()[1].count("▸") == 1  # the rival's table is hidden


def test_the_qr_code_is_left_out_if_it_does_not_fit() -> None:
    for height, fits in ((19, False), (20, True)):
        lines = [line for line, _ in text_lines(lobby("corners", 60, height), "link", 54)]
        assert (lines[0] == "Make the window taller to see the QR code.") == (not fits)
        assert LINK in lines


def test_the_early_end_of_a_race_is_counted_down() -> None:
    state = racing("corners", closing_ms=8_200)
    assert instruction(state)[0].startswith("Everyone is stuck: the race ends in 9 s")
    assert state.left_ms
    assert instruction(replace(state, left_ms=state.left_ms - 3_000))[0].startswith(
        "Everyone is stuck: the race ends in 6 s"
    )


@every_size
def test_everybody_sees_who_has_a_head_start(size: tuple[int, int]) -> None:
    handicap = structs.replace(header("corners"), head_start=HeadStart(player="a", ms=30_000))
    for stage in (lobby("corners", *size), racing("corners", *size), finished("corners", *size)):
        assert stage.view
        ahead = replace(stage, header=handicap, view=structs.replace(stage.view, head_start=1))
        assert "ada starts 30 s ahead" in text(ahead)
        assert "you start 30 s ahead" in text(replace(ahead, view=structs.replace(stage.view, head_start=2)))
    waiting = racing("corners", *size)
    assert waiting.view
    view = structs.replace(waiting.view, board=None, waits_ms=12_000, head_start=1)
    without_cards = replace(waiting, header=handicap, view=view)
    assert "You get your cards in 12 s." in text(without_cards)
    assert "back" not in {action.entry(without_cards).label for action in working_actions(without_cards)}


# The result.


def won(slug: str = "corners", size: tuple[int, int] = (80, 24)) -> RaceState:
    """Return a race that you have just won."""
    state = replace(racing(slug, *size), animation=True)
    view, (ada, own, cy), left = now(slug, "over", "won", n=99)
    own = structs.replace(own, place=1, ms=61_000)
    return update(state, view, (own, structs.replace(ada, place=2, outcome="timeout"), cy), left)


@every_size
def test_the_headline_is_a_band_and_names_of_the_podium_are_below_it(size: tuple[int, int]) -> None:
    state = replace(won(size=size), confetti=0)
    said = text(state)
    assert "♠ ♥  You beat ada and cy!  ♦ ♣" in said
    assert rows_with_reverse(state) >= {2, size[1] - 2}
    if "▓" in said:
        steps = [number for number, line in enumerate(said.splitlines()) if "▓" in line]
        assert [name in said.splitlines()[steps[-1] + 1] for name in ("ada", "bo", "cy")] == [True] * 3


def test_cards_fall_for_the_winner_and_only_with_animation() -> None:
    state = won()
    assert state.confetti == CONFETTI_FRAMES
    assert text(state) != text(replace(state, confetti=state.confetti - 1)) != text(replace(state, confetti=0))
    assert not finished("corners").confetti
    view, standings, left = now("corners", "over", "resigned", n=99)
    tied = tuple(structs.replace(each, place=1) for each in standings)
    assert not update(replace(racing("corners"), animation=True), view, tied, left).confetti
    assert not update(replace(racing("corners"), animation=True), *now("corners", "over", "timeout", n=99)).confetti


@pytest.mark.parametrize(("best_ms", "solved", "is_best"), [(61_000, 2, True), (61_000, 1, False), (50_000, 2, False)])
def test_results_say_that_a_time_is_a_new_best(best_ms: int, solved: int, is_best: bool) -> None:
    game = GameScores(game="corners", races=3, wins=1, solved=solved, best_ms=best_ms, best=48, goal=48, counted="home")
    scores = Personal(
        player="b", name="bo", bot=False, races=3, wins=1, solved=2, streak=0, longest_streak=0, games=(game,)
    )
    assert ("New best!" in text(replace(won(), scores=scores, confetti=0))) == is_best


def test_the_host_chooses_what_to_change_before_the_countdown() -> None:
    guest = lobby("corners")
    assert on_key(guest, "c")[1] is None
    assert guest.view
    host = replace(guest, view=structs.replace(guest.view, host=Host(name="bo", seat=2)))
    for size in SIZES:
        assert "b add bot   c change   5 empty seats" in text(replace(host, width=size[0], height=size[1]))
    _, change = on_key(host, "c")
    assert isinstance(change, Choose)
    requests = {}
    _, players = change.options["head start"](host)
    assert isinstance(players, Choose)
    _, times = players.options["ada"](host)
    assert isinstance(times, Choose)
    assert times.options["30 s"](host)[1] == Again(id=0, head_start=HeadStartFor(seat=1, ms=30_000))
    assert times.options["none"](host)[1] == Again(id=0, head_start=HeadStartFor(seat=1, ms=0))
    for what, step in change.options.items():
        _, choice = step(host)
        assert isinstance(choice, Choose)
        requests[what] = [option(host)[1] for option in choice.options.values()]
    assert Again(id=0, game="the-edge") in requests["game"]
    assert Again(id=0, options={"limit_ms": 60_000}) in requests["time limit"]
    assert Again(id=0, options={"best_of": 3}) in requests["match"]
    assert requests["undo"] == [Again(id=0, options={"undo": True}), Again(id=0, options={"undo": False})]

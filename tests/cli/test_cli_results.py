"""What the screens of a race say about its state and its results."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec import structs

from cli.test_cli_race_view import PAR, text
from samedeal.analysis.turning_point import TurningPoint
from samedeal.game import Game
from samedeal.games.catalogue import GAMES
from samedeal.race.ghosts import Ghost
from samedeal.scores.evening import Evening, EveningRow
from samedeal.scores.tallies import GameScores, Personal, Versus
from samedeal.share.phrases import achieved, played_for_score
from samedeal.wire.documents import Daily, Result
from samedeal.wire.messages import Guidance, Rematch
from samedeal_cli.commands.play import Session
from samedeal_cli.render.phrases import versus_phrase, waiting_phrase
from samedeal_cli.screen.race_screen import RaceScreen
from samedeal_cli.screen.running_view import instruction
from samedeal_cli.screen.texts import text_lines
from samedeal_cli.settings import Settings
from samedeal_cli.state.race_actions import action_of
from samedeal_cli.state.race_commands import Ask, RaceAgain
from samedeal_cli.state.race_keys import on_key
from samedeal_cli.state.race_state import RaceState
from support.example_states import board, finished, header, lobby, now, racing, standing
from support.race_story import analysis

SIZES = [(80, 24), (60, 20), (100, 32)]
RECORD = Versus(player="b", name="bo", other="a", other_name="ada", races=6, ahead=3, behind=1, tied=2, games=())
GHOST = Ghost(ghost=1, name="dee", bot=False, outcome="won", done=True, home=48, goal=48, progress=1.0, ms=9000)


def alone(slug: str, outcome: str = "playing") -> RaceState:
    """Return a race without rivals, with an attempt of this outcome."""
    state = racing(slug)
    assert state.view
    assert state.view.board
    own = structs.replace(state.view.board, outcome=outcome, moves=(), guidance=Guidance(ending="Over: no moves left"))
    mine = tuple(each for each in state.standings if each.seat == state.seat)
    return replace(state, view=structs.replace(state.view, board=own), standings=mine)


def test_waiting_names_the_racers_who_still_race_and_the_time_left() -> None:
    racers = [standing(seat, name, "playing") for seat, name in enumerate(("ada", "bo", "cy"), start=1)]
    assert waiting_phrase(racers, 1, 192_000) == "Waiting for bo and cy (3:12 at most)."
    assert waiting_phrase(racers, None, None) == "Waiting for ada, bo and cy."
    assert waiting_phrase(racers[:1], 1, 192_000) == ""
    crowd = [*racers, *(standing(seat, f"r{seat}", "playing") for seat in range(4, 9))]
    assert waiting_phrase(crowd, 1, None) == "Waiting for bo, cy, r4 and 4 more."


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("fields", "left_ms", "button", "below"),
    [
        ({}, None, "n  Rematch", "bo is in."),
        (
            {"players": ("bo", "Trey"), "awaited": ("ada", "cy")},
            22_500,
            "n  Rematch",
            "bo and Trey are in. Starts in 23 s. Waiting for you and cy.",
        ),
        ({"game": "the-edge", "players": ("bo",)}, None, "n  Rematch with The Edge", "bo is in."),
        ({"stage": "running"}, None, "n  Watch the rematch", "It has started."),
        ({"stage": "over"}, None, "n  Rematch", ""),
        ({"stage": "cancelled"}, None, "n  Rematch", ""),
    ],
)
def test_results_say_who_is_in_the_rematch(
    fields: dict[str, Any], left_ms: int | None, button: str, below: str, size: tuple[int, int]
) -> None:
    state = finished("corners", *size)
    assert state.view
    assert state.me
    fields = fields | {"awaited": (state.me.name, "cy")} if "awaited" in fields else fields
    rematch = Rematch(**{"race": "next-race", "game": "corners", "by": "bo", **fields})
    state = replace(state, view=structs.replace(state.view, next=rematch), left_ms=left_ms)
    lines = [*(line.strip() for line in text(state).splitlines()), ""]
    assert lines.index(button) > lines.index(next(line for line in lines if "ada" in line))
    assert lines[lines.index(button) + 1] == below
    assert on_key(state, "n")[1] == RaceAgain()


def test_an_attempt_that_is_over_alone_is_finished_not_resigned() -> None:
    assert alone("corners").end_verb == "resign"
    state = alone("gallery", "over")
    assert state.end_verb == "finish"
    assert instruction(state)[0].startswith("Over: no moves left. You can undo, restart or finish.")
    action = action_of(state, "!")
    assert action
    assert action.entry(state).label == "finish"
    _, asked = on_key(state, "!")
    assert isinstance(asked, Ask)
    assert asked.question == "Finish? Your best attempt counts."
    assert racing("gallery").end_verb == "resign"


def test_results_say_how_your_attempt_ended() -> None:
    state = finished("gallery")
    assert state.view
    assert state.me
    own = structs.replace(
        board(racing_game("gallery")), outcome="over", guidance=Guidance(ending="Over: no moves left")
    )
    stuck = Guidance(ending="Nothing can be played, and the stock is empty")
    over = tuple(structs.replace(each, outcome="over") for each in state.standings)
    ended = replace(state, view=structs.replace(state.view, board=own), standings=over)
    assert f"Deal: score {state.me.goal - state.me.home}. Over: no moves left" in text(ended)
    long = replace(ended, view=structs.replace(state.view, board=structs.replace(own, guidance=stuck)), width=60)
    assert "Nothing can be played, and the stock is empty" in " ".join(text(long).split())


def test_an_unknown_key_is_named_in_the_lobby_and_on_the_results() -> None:
    for state in (finished("corners"), lobby("corners")):
        assert "z is not a key here. ? shows all keys." in text(on_key(state, "z")[0])


def test_the_help_starts_with_the_keys_that_work_now() -> None:
    def said(state: RaceState) -> list[str]:
        return [line for line, _ in text_lines(state, "help", 78)]

    assert said(lobby("golf"))[0] == "Lobby"
    assert said(finished("golf"))[0] == "After the race"
    assert said(racing("golf"))[0] == "Playing"
    stocks = ["use the stock" in " ".join(said(racing(slug))) for slug in ("golf", "freecell")]
    assert stocks == [True, False]


def racing_game(slug: str) -> Game:

    return GAMES[slug].from_seed("1")


def test_gallery_shows_scores_wherever_it_is_ranked() -> None:
    assert played_for_score("gallery")
    assert not played_for_score("corners")
    for state in (racing("gallery"), finished("gallery")):
        results = {achieved("gallery", each.home, each.goal, each.outcome) for each in state.standings}
        assert all(result in text(state) for result in results if result != "score 0")
        assert "/96" not in text(state)


def test_watchers_are_told_who_has_ended_instead_of_what_to_do() -> None:
    boards = {1: structs.replace(board(racing_game("gallery")), guidance=Guidance(instruction="Deal"))}
    view, standings, left = now("gallery", "running", "playing", watching=True, boards=boards)
    state = replace(racing("gallery"), watching=True, view=view, standings=standings, left_ms=left)
    assert instruction(state)[0] == "You are watching."
    hidden = replace(state, view=structs.replace(view, boards=None), width=60)
    assert "cannot see the tables of this race until it is over." in " ".join(text(hidden).split())
    daily = replace(hidden, header=structs.replace(header("gallery"), daily=True))
    assert "cannot see the tables of this race until its deal is public." in " ".join(text(daily).split())
    over = structs.replace(boards[1], outcome="over", guidance=Guidance(ending="Nothing can be played"))
    ended = replace(state, view=structs.replace(view, boards={1: over}))
    assert instruction(ended)[0] == "ada: Nothing can be played"


def test_results_name_the_match_first() -> None:
    state = finished("corners")
    rows = [
        EveningRow(place=seat, player=name, seat=seat, name=name, bot=False, points=3.0 - seat, races=3, wins=3 - seat)
        for seat, name in enumerate(("ada", "bo"), start=1)
    ]
    evening = Evening(races=("one", state.race_id), table=tuple(rows), best_of={"3": "ada"})
    options = structs.replace(header("corners").options, best_of=3)
    match = replace(state, evening=evening, header=structs.replace(header("corners"), options=options))
    assert "ada wins the match 2 : 1 · 2nd of 3, behind ada" in text(match)
    assert "the match" not in text(replace(match, race_id="another"))


def test_ghosts_are_ranked_among_the_racers() -> None:
    state = replace(racing("corners"), ghosts=(GHOST,))
    assert state.ranking[0] == GHOST
    assert "~ dee" in text(state)
    assert "~ dee's ghost" in text(replace(finished("corners"), ghosts=(GHOST,)))
    assert "~ dee ✓ 9.0 s" in text(replace(state, width=60, height=20))


def test_results_show_par_only_if_it_is_worth_a_boast() -> None:
    state = replace(finished("corners"), par=("worse",) * 5 + ("better",) * 5)
    assert "▲ 5 beat you  ▼ 5 behind" in text(state)
    assert "beat you" not in text(replace(state, par=("worse",) * 4 + ("better",) * 5))


def test_results_show_records_the_day_and_a_legend_of_par() -> None:
    day = Daily("corners", "2026-11-21", "9f" * 32, "today", 0, None, None, (), 14, None)
    best = Result(1, "ada", False, "won", 48, 48, 62_000, None)
    day = structs.replace(day, results=(best,), yours=structs.replace(best, place=3, name="bo"))
    state = replace(finished("corners"), records=(RECORD,), daily=day, par=PAR)
    assert "You 3 : 1 ada, 2 tied" in text(state)
    assert "You are 3rd of 14 · 1. ada 1:02.0" in text(state)
    assert "★ 3 solved  ▲ 8 beat you  = 2 level  ▼ 20 behind" in text(state)
    assert versus_phrase(RECORD) == "bo 3 : 1 ada, 2 tied"
    assert "5a" * 32 not in text(state)
    assert "corners:5a5a5a5a…" in text(state)


def test_a_daily_race_says_when_its_deal_is_revealed(capsys: pytest.CaptureFixture[str]) -> None:
    state = finished("corners")
    assert state.view
    daily = structs.replace(header("corners"), daily=True)
    sealed = replace(state, header=daily, view=structs.replace(state.view, deal=None))
    assert "secret until 1970-01-02 02:00 UTC" in text(sealed)
    for shown, says in (
        (state, "To watch the replay: "),
        (sealed, "The replay is secret until 1970-01-02 02:00 UTC.\n"),
    ):
        screen = cast(RaceScreen, SimpleNamespace(state=shown, left=False, failure=None))
        Session(Settings(), "http://127.0.0.1:1", "r")._print_end(screen)
        assert capsys.readouterr().err.startswith(says)
    assert not sealed.has_ghosts
    assert on_key(sealed, "h")[1] is None


def test_h_races_against_the_ghosts_of_a_finished_race() -> None:
    state = finished("corners")
    assert on_key(state, "h")[1] == RaceAgain(ghosts=True)
    action = action_of(state, "h")
    assert action
    assert action.entry(state).label == "ghosts"


def test_the_scores_include_records_and_your_own() -> None:
    game = GameScores(game="gallery", races=1, wins=1, solved=0, best_ms=None, best=65, goal=96, counted="left")
    own = Personal(
        player="b", name="bo", bot=False, races=1, wins=1, solved=0, streak=0, longest_streak=2, games=(game,)
    )
    state = replace(finished("corners"), scores=own, records=(RECORD,))
    shown = "\n".join(line for line, _ in text_lines(state, "evening", 78))
    assert "1 race, 1 win, 0 deals solved" in shown
    assert "Gallery: 1 race, 1 win, 0 solved, best score 65" in shown
    assert "You 3 : 1 ada, 2 tied" in shown


@pytest.mark.parametrize(("width", "count"), [(60, 1), (80, 2), (120, 3)])
def test_watchers_see_all_tables_that_fit_until_they_choose_one(width: int, count: int) -> None:
    game = racing_game("the-edge")
    boards = {seat: board(game, 3, moves=None) for seat in (1, 2, 3)}
    state = replace(racing("the-edge", width, 24), watching=True)
    view, standings, left = now("the-edge", "running", "playing", watching=True, boards=boards)
    state = replace(state, view=view, standings=standings, left_ms=left)
    assert state.shows_all
    assert (f"{count} of 3 tables" in text(state)) == (count > 1)
    chosen, _ = on_key(state, "tab")
    assert not chosen.shows_all
    assert "ada's table" in text(chosen)


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_the_results_say_whether_the_deal_could_be_won_and_until_when(width: int, height: int) -> None:
    state = finished("corners", width, height)
    assert "be solved" not in text(state)
    assert action_of(state, "w") is None
    point = TurningPoint(seat=state.seat or 0, step=27, is_end=False, proven=True)
    known = replace(state, analysis=structs.replace(analysis("corners"), racers=(point,)))
    assert "can be solved in 119 moves. Press w." in text(known)
    assert "You could have solved it up to move 27." in text(known)
    assert on_key(known, "w")[1] == "open-line"
    unknown = replace(state, analysis=structs.replace(analysis("corners"), outcome="open", line=(), racers=()))
    assert "No solution found in 1,234 positions." in text(unknown)
    assert action_of(unknown, "w") is None

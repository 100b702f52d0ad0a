"""``samedeal solve``, and turning points in replays and their pictures."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from samedeal.analysis.analysis import Analysis
from samedeal.analysis.turning_point import TurningPoint
from samedeal.games.catalogue import GAMES
from samedeal.proof.verification import verify
from samedeal.replays.replay import read
from samedeal.solver.solve import SOLVERS, solve
from samedeal_cli.failure import Failure
from samedeal_cli.screen.picture import picture_svg
from samedeal_cli.screen.replay_view import draw_screen
from samedeal_cli.searches import PublicDeal, analysis_of_deal, line_replay
from samedeal_cli.state.recording import Recording
from samedeal_cli.state.replay_state import Player
from support.finished_races import finished
from support.offline_cli import run, written

WON, LOST, OPEN = "the-edge:2", "kings-in-the-corners:93", "corners:31"


pytestmark = pytest.mark.usefixtures("offline")


def test_solve_finds_a_line_and_writes_it_as_a_replay(tmp_path: Path) -> None:
    file = tmp_path / "line.json"
    result = run("solve", WON, "-o", file)
    line = solve(GAMES["the-edge"].from_seed("2"), SOLVERS["the-edge"].budget).line
    assert (result.exit_code, result.stdout) == (
        0,
        f"The Edge · deal {WON}\nThis deal can be solved in {len(line)} moves.\n",
    )
    replay = read(file.read_bytes())
    assert all(fact.holds for fact in verify(replay))
    assert replay.standings[0].outcome == "won"


def test_solve_plays_the_line_back_as_lines_of_text() -> None:
    result = run("solve", WON, "--watch", "--line")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1].strip().startswith("1 of 1: Solver (bot), solved in ")


def test_solve_without_a_line_says_how_far_it_looked(tmp_path: Path) -> None:
    result = run("solve", OPEN)
    assert (result.exit_code, result.stdout.splitlines()[1]) == (
        0,
        "No solution found in 100,000 positions.",
    )
    for wanted in (["--watch"], ["-o", tmp_path / "line.json"]):
        result = run("solve", OPEN, *wanted)
        assert (result.exit_code, result.stderr) == (1, "samedeal: there is no winning line to show\n")
    assert not (tmp_path / "line.json").exists()


def test_solve_proves_that_a_deal_is_lost() -> None:
    document = json.loads(run("solve", LOST, "--json").stdout)
    proof = f"This deal cannot be solved ({document['positions']:,} positions)."
    assert (document["outcome"], document["line"], document["text"]) == ("lost", [], proof)
    assert run("solve", LOST).stdout.splitlines()[1] == proof


def test_solve_knows_variants() -> None:
    document = json.loads(run("solve", "corners:2", "--variant", "refill=waste", "--json").stdout)
    assert (document["variant"], document["deal"]) == ({"refill": "waste"}, "corners:2")
    assert run("solve", "corners:2", "--variant", "cap=off").exit_code == 2


def test_solve_of_a_race_names_the_turning_point_of_each_racer(tmp_path: Path) -> None:
    file = written(tmp_path / "race.json", finished("the-edge", 60))
    document = json.loads(run("solve", file, "--json").stdout)
    assert document["outcome"] == "won"
    assert {racer["name"] for racer in document["racers"]} == {"ada", "bo"}
    lines = run("solve", file).stdout.splitlines()
    assert lines[2:] == [f"{racer['name']} {racer['text']}" for racer in document["racers"]]


def test_solve_refuses_what_does_not_go_together(file: Path, tmp_path: Path) -> None:
    for arguments in (
        [file, "--variant", "refill=waste"],
        [WON, "--line"],
        ["bridge:2"],
        [WON, "-o", tmp_path / "line.doc"],
    ):
        assert run("solve", *arguments).exit_code == 2


async def test_a_search_that_fails_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(Failure, match="the search for a winning line failed"):
        await analysis_of_deal(PublicDeal("the-edge", "2"))


def test_a_line_is_a_replay_only_if_it_is_known() -> None:
    nothing = Analysis(game="corners", deal=OPEN, variant={}, outcome="lost", positions=5)
    with pytest.raises(Failure):
        line_replay(nothing)


# Replays.


def analysed_player(point: TurningPoint | None) -> Player:
    player = Player.of(Recording.of(finished("corners", 60))).watch_seat(1)
    racers = (point,) if point else ()
    deal = player.recording.deal
    analysis = Analysis(
        game="corners", deal=deal, variant={}, outcome="won", positions=9, line=("draw",), racers=racers
    )
    return replace(player, analysis=analysis)


def test_a_turning_point_is_marked_on_the_timeline() -> None:
    player = analysed_player(TurningPoint(seat=1, step=7, is_end=False, proven=True))
    text = "\n".join(draw_screen(player, 100, 30).text())
    assert "▼ ada could have solved it up to move 7 ─" in text
    assert text.count("▼") == 2
    at = player
    while (at.track.index(at.n), at.note) != (7, ""):
        at, before = at.on_key("]"), at
        assert at.n > before.n
    assert at.marks[[mark.n for mark in at.marks].index(at.n)].kind in ("turn", "home", "undo", "think")


def test_a_replay_says_what_is_not_proved_or_known() -> None:
    least = analysed_player(TurningPoint(seat=1, step=7, is_end=False, proven=False))
    assert "ada could have solved it at least up to move 7" in "\n".join(draw_screen(least, 100, 30).text())
    for shown in (least.watch_seat(2), analysed_player(None)):
        text = "\n".join(draw_screen(shown, 100, 30).text())
        assert "── This deal can be solved in 1 move. ─" in text
        assert "▼" not in text


def test_pictures_show_turning_points_on_request(tmp_path: Path) -> None:
    player = analysed_player(TurningPoint(seat=1, step=7, is_end=False, proven=True))
    assert "could have solved it up to move 7" in picture_svg(player)
    file = written(tmp_path / "race.json", finished("the-edge", 60))
    assert "still have solved it" not in run("export", file, "--format", "svg").stdout
    assert "still have solved it" in run("export", file, "--format", "svg", "--analysis").stdout
    assert "still have solved it" in run("export", file, "--format", "cast", "--analysis").stdout
    assert run("export", file, "--format", "json", "--analysis").exit_code == 2

"""The simulation of whether skill counts: its table, from a few races with a small budget."""

import pytest
from click.testing import CliRunner

from research import skill
from samedeal.arena import players, playouts
from samedeal.computer import freecell_bot
from samedeal.games.catalogue import GAMES
from samedeal_cli.bots import arena_races

pytestmark = pytest.mark.tier(2)


def test_table_has_a_line_for_each_game(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(players, "BUDGETS", dict.fromkeys(players.BUDGETS, 100))
    monkeypatch.setattr(playouts, "PLAYS", dict.fromkeys(GAMES, 1))
    monkeypatch.setattr(freecell_bot, "NODES", 10)
    monkeypatch.setattr(skill, "play_all", lambda contests, jobs: map(arena_races.play, contests))
    printed = CliRunner().invoke(skill.main, ["--races", "2", "--moves", "20"], catch_exceptions=False).output
    header, line, *rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in printed.splitlines()]
    assert header == [
        *("Game", "Filter", "Races", "greedy before random", "playouts before greedy", "solver before playouts"),
        "Solved",
    ]
    assert set(line) == {"---"}
    assert [row[0] for row in rows] == [game.title for game in GAMES.values()]
    for game, filter_, races, *shares, solved in rows:
        assert filter_ == (
            "`any`" if game in ("Corner Stones", "Gallery", "Golf", "FreeCell", "Klondike") else "`certified/1`"
        )
        assert races == "2"
        for share in shares:
            assert share.split(" %")[0] in ("0", "25", "50", "75", "100")
        assert [count in "012" for count in solved.split(", ")] == [True] * len(skill.PLAYERS)

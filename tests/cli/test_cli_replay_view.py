"""The replay view: what it shows of every game at some positions."""

import re
from dataclasses import replace

import pytest

from samedeal.games.catalogue import GAMES
from samedeal_cli.render.text_table import card_text
from samedeal_cli.screen.replay_view import draw_screen
from samedeal_cli.state.recording import Recording
from samedeal_cli.state.replay_state import Player
from support.finished_races import finished

MOVES = 120
SIZES = ((80, 24), (60, 20))


def player(slug: str, keys: str = "") -> Player:
    """Return a player of a race of two after some keys; ``→`` is the right arrow."""
    state = Player.of(Recording.of(finished(slug, MOVES)))
    for key in keys:
        state = state.on_key({" ": "space", "→": "right", "⇥": "tab", "$": "end", "↵": "enter"}.get(key, key))
    return state


@pytest.mark.parametrize("slug", sorted(GAMES))
@pytest.mark.parametrize("size", [*SIZES, (100, 32), (200, 60)])
def test_every_table_shows_all_places_and_notes(slug: str, size: tuple[int, int]) -> None:
    for keys in ("0", "3", "8", "$"):
        state = player(slug, keys)
        text = "\n".join(draw_screen(state, *size).text())
        for phrase in state.step.game.facts:
            assert phrase in text, text
        for place in state.step.game.layout.split():
            assert place == "." or re.search(rf"\b{place}\b", text), place


@pytest.mark.parametrize("slug", sorted(GAMES))
@pytest.mark.parametrize("size", [(80, 24), (80, 40), (120, 40), (160, 50)])
def test_tables_side_by_side_do_not_overlap(slug: str, size: tuple[int, int]) -> None:
    for keys in ("c0", "c4", "c9"):
        lines = draw_screen(player(slug, keys), *size).text()
        floor = next(row for row, line in enumerate(lines[2:], start=2) if line.startswith("──"))
        middle = size[0] // 2 - 1
        assert {line[middle] for line in lines[2:floor]} == {"│"}


def test_a_small_screen_has_one_line() -> None:
    lines = draw_screen(player("corners", "5"), 59, 19).text()
    assert lines[0].startswith("ada  ")
    assert "needs 60x20, has 59x19" in lines[0]
    assert "needs 60x20, has 90x19" in draw_screen(player("corners", "5"), 90, 19).text()[0]
    assert not any(lines[1:])
    assert draw_screen(player("corners"), 0, 0).text() == ["a"]


def test_the_list_of_moves_shows_the_current_move() -> None:
    state = player("corners")
    for index in range(1, len(state.track.steps)):
        state = state.on_key("right")
        lines = [line for line in draw_screen(state, 80, 24).text() if f"▸{index:>4} {state.step.move}" in line]
        assert len(lines) == 1


def test_the_last_moved_card_is_marked() -> None:
    state = player("corners", "6→")
    marked = "".join(
        span.text for row in list(draw_screen(state, 80, 24).rows())[2:17] for span in row if span.style.reverse
    )
    assert marked.split() == [card_text(state.step.game.view()["waste"][-1])]


def test_spots_match_their_texts() -> None:
    canvas = draw_screen(player("corners"), 80, 24)
    lines = canvas.text()
    for name, word in (("seat:1", "ada"), ("seat:2", "bo (bot)")):
        spot = canvas.spots[name]
        assert word in lines[spot.row][spot.column : spot.column + spot.width]
    assert lines[canvas.spots["timeline"].row][1] == "├"


def test_an_error_about_a_typed_moment_is_shown() -> None:
    state = player("corners", "").go_to_text("x")
    assert "'x' is not a valid moment" in "\n".join(draw_screen(state, 80, 24).text())


@pytest.mark.parametrize("name", ["\x1b[2J\u202eeve", "[bold red]x[/]", "名前" * 20, "a\nb", "<b>&amp;", "\u0301x"])
def test_a_hostile_name_is_plain_text(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("support.finished_races.NAMES", (name, "bo", "cy"))
    for keys in ("5", "5c", "$"):
        for size in (*SIZES, (120, 40), (30, 5)):
            canvas = draw_screen(player("corners", keys), *size)
            for line in canvas.text():
                assert line.isprintable()
            assert len(canvas.text()) == size[1]


def test_plain_screens_are_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("support.finished_races.NAMES", ("ådå", "名前", "cy"))
    for keys in ("5", "5c", "$"):
        for line in draw_screen(replace(player("gallery", keys), plain=True), 80, 24).text():
            assert line.isascii(), line

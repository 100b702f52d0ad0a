"""Display widths of names, and that drawn names keep to their columns."""

from dataclasses import replace

import pytest
from msgspec import structs

from samedeal.names import normalised
from samedeal_cli.commands.output import table_lines
from samedeal_cli.render.canvas import Canvas
from samedeal_cli.render.text_table import standings_lines
from samedeal_cli.render.text_width import cells, fitted, graphemes
from samedeal_cli.screen.race_view import draw_screen
from support.example_states import lobby, racing

THAI, EMOJI = "ปิ่นกำ", "🇹🇭👍🏽🦊"
PERSIAN, FAMILY = "علی\u200cرضا", "👨\u200d👩\u200d👧"
NAMES = (THAI, EMOJI, PERSIAN, FAMILY, "名前", "u\u0308", "ada")


@pytest.mark.parametrize(
    ("name", "width"),
    [(THAI, 4), (EMOJI, 6), (PERSIAN, 6), (FAMILY, 2), ("名前", 4), ("u\u0308", 1), ("ada", 3), ("", 0)],
)
def test_cells_counts_what_a_terminal_shows(name: str, width: int) -> None:
    assert cells(name) == width
    assert sum(wide for _, wide in graphemes(name)) == width
    assert "".join(grapheme for grapheme, _ in graphemes(name)) == name


def test_fitted_never_splits_a_character() -> None:
    assert fitted(EMOJI, 6) == EMOJI
    assert fitted(EMOJI, 5, "…") == "🇹🇭👍🏽…"
    assert fitted(EMOJI, 3) == "🇹🇭"
    assert fitted(THAI, 3) == "ปิ่น"
    assert fitted("ada", 2, "…") == "a…"


@pytest.mark.parametrize("name", NAMES)
def test_a_name_on_a_canvas_takes_its_width(name: str) -> None:
    canvas = Canvas(12, 1)
    end = canvas.write(0, 1, name)
    canvas.write(0, end, "|")
    assert end == 1 + cells(name)
    assert canvas.text() == [f" {name}|"]
    assert cells("".join(span.text for span in next(canvas.rows()))) == 12


@pytest.mark.parametrize("name", [THAI, EMOJI, PERSIAN, FAMILY])
@pytest.mark.parametrize(("width", "height"), [(80, 24), (60, 20), (100, 32)])
def test_names_of_every_kind_keep_the_columns_of_every_screen(name: str, width: int, height: int) -> None:
    name = normalised(name)
    for state in (lobby("corners", width, height), racing("corners", width, height)):
        plain = draw_screen(state, width, height)
        standings = tuple(structs.replace(standing, name=name) for standing in state.standings)
        named = draw_screen(replace(state, standings=standings), width, height)
        assert name in "".join(named.text())
        assert {cells("".join(span.text for span in row)) for row in named.rows()} == {width}
        assert named.spots.keys() == plain.spots.keys()
    columns = {cells(line[: line.index(" ██")]) for line in standings_lines(standings) if " ██" in line}
    assert len(columns) == 1


def test_tables_with_wide_names_are_aligned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = table_lines([("日本太郎", "1 race", "corners"), ("ada", "12 races", "the-edge")])
    assert lines == ["日本太郎    1 race  corners", "ada       12 races  the-edge"]

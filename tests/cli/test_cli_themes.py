"""Themes: the colours of the suits, with four colours and with two."""

import pytest

from samedeal_cli.render.themes import THEMES, look
from samedeal_cli.settings import Theme


@pytest.mark.parametrize("theme", THEMES)
def test_two_colours_pair_the_suits(theme: Theme) -> None:
    palette = look(theme, "two")
    for table in (palette.sgr, palette.color):
        assert table["heart"] == table["diamond"]
        assert table.get("spade") == table.get("club") != table["heart"]


@pytest.mark.parametrize("theme", THEMES)
def test_four_colours_differ(theme: Theme) -> None:
    colors = look(theme).color
    assert len({colors.get(suit) for suit in ("spade", "heart", "diamond", "club")}) == 4


def test_without_colours_nothing_is_coloured() -> None:
    palette = look("dark", colored=False)
    assert (palette.sgr, palette.color) == ({}, {})

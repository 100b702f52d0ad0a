"""Par charts: self-contained valid SVG with a square per play, distinguishable without colour."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import get_args
from xml.etree import ElementTree

import pytest

from samedeal.computer.bots import BOTS
from samedeal.computer.par import Compared, Par, Square, compared
from samedeal.games.catalogue import GAMES
from samedeal.names import LONGEST
from samedeal.share.par_chart import LONGEST_ROW, MEANINGS, percent, rows, svg, verdict

SVG = "{http://www.w3.org/2000/svg}"
EDGE = Par.of(GAMES["the-edge"], "a.0", {}, (52, 52, 40, 30, 30, 30, 30, 20))


def racers(par: Par, *names: str) -> list[Compared]:
    return [compared(par, seat, name, par.homes[0], won=False) for seat, name in enumerate(names, start=1)]


def drawn(par: Par, *names: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg(par, racers(par, *names)))


def squares(picture: ElementTree.Element) -> Iterator[tuple[str, float, float]]:
    """All squares with their positions."""
    for use in picture.iter(f"{SVG}use"):
        yield use.attrib["href"].removeprefix("#"), float(use.attrib["x"]), float(use.attrib["y"])


def text(picture: ElementTree.Element) -> str:
    return " ".join("".join(element.itertext()) for element in picture)


def test_every_racer_has_a_square_per_play_and_the_legend_has_each_kind() -> None:
    picture = ElementTree.fromstring(
        svg(EDGE, [compared(EDGE, 1, "ada", 30, won=False), compared(EDGE, 2, "bo", 52, won=True)])
    )
    counts = Counter(square for square, _, _ in squares(picture))
    legend = dict.fromkeys(get_args(Square), 1)
    ada = Counter({"solved": 2, "better": 1, "equal": 4, "worse": 1})
    assert counts == ada + Counter({"solved": 2, "worse": 6}) + Counter(legend)


def test_the_chart_has_a_text_alternative() -> None:
    picture = drawn(EDGE, "ada")
    labels = {element.attrib["id"]: element.text or "" for element in picture if "id" in element.attrib}
    assert picture.attrib["role"] == "img"
    assert picture.attrib["aria-labelledby"].split() == list(labels) == ["title", "desc"]
    assert labels["title"] == "The Edge, deal a.0"
    assert "the-edge-bot/1 played the deal the-edge:a.0. 8 plays, cards home: 20 to 52, median 30" in labels["desc"]
    assert "ada, 52 home: better than 75% and level with 25% of the plays." in labels["desc"]


def test_every_kind_of_square_has_a_distinct_colour_and_mark() -> None:
    faces = {group.attrib["id"]: list(group) for group in drawn(EDGE, "ada").iter(f"{SVG}g")}
    assert faces.keys() == set(get_args(Square)) == MEANINGS.keys()
    for own in ("fill", "d"):
        assert (
            len({shape.attrib[own] for face in faces.values() for shape in face if own in shape.attrib} - {"none"}) == 4
        )


@pytest.mark.parametrize("slug", BOTS)
def test_nothing_is_drawn_outside_the_picture_or_over_anything_else(slug: str) -> None:
    counts = {"corner-stones": 20, "gallery": 200}
    par = Par.of(GAMES[slug], f"{'0f' * 32}.12", {}, tuple(range(counts.get(slug, 60))))
    picture = drawn(par, *("W" * LONGEST for _ in range(8)))
    width, height = float(picture.attrib["width"]), float(picture.attrib["height"])
    places = [(x, y) for _, x, y in squares(picture)]
    assert len(set(places)) == len(places) == 8 * par.plays + 4
    assert all(0 <= x <= width - 12 and 0 <= y <= height - 12 for x, y in places)
    assert picture.attrib["viewBox"] == f"0 0 {width:g} {height:g}"
    levels = sorted(float(line.attrib["y"]) for line in picture.iter(f"{SVG}text"))
    assert height > max(levels)
    assert width <= 800


def test_the_chart_is_self_contained() -> None:
    source = svg(EDGE, racers(EDGE, "ada"))
    assert re.findall(r"https?://[^\"]*", source) == ["http://www.w3.org/2000/svg"]
    assert all(link.startswith("#") for link in re.findall(r'href="([^"]*)"', source))
    assert not re.search(r"url\(|@import|<script|<style|<image|<!|<\?", source)


@pytest.mark.parametrize(
    "name", ["<b>&amp;</b>", "]]><script>", "\"'", "</svg>", "a\x00b\x1b[2J\x0b", "\ufffe\uffff", "Zoë 😀 漢字", "&#0;"]
)
def test_any_name_and_seed_are_escaped_as_text(name: str) -> None:
    par = Par.of(GAMES["corners"], name, {}, (10, 20))
    picture = drawn(par, name)
    shown = re.sub("[\x00\x0b\x1b\ufffe\uffff]", "\ufffd", name)
    assert text(picture).count(shown) == 5  # title, heading, caption, and twice in the description
    assert {element.tag.removeprefix(SVG) for element in picture.iter()} == {
        *("svg", "title", "desc", "defs", "g", "rect", "path", "text", "tspan", "use")
    }


def test_a_race_without_racers_has_a_heading() -> None:
    assert len(list(squares(drawn(EDGE)))) == 4


def test_squares_are_split_into_as_few_equal_rows_as_possible() -> None:
    for count, lengths in {200: [50] * 4, 60: [30, 30], 20: [20], 101: [34, 34, 33], 1: [1]}.items():
        result = list(rows(("worse",) * count))
        assert [len(row) for row in result] == lengths
        assert max(lengths) <= LONGEST_ROW


def test_verdict_describes_the_comparison() -> None:
    assert verdict(compared(EDGE, 1, "ada", 30, won=False)) == "better than 12.5%, level with 50% and worse than 37.5%"
    assert verdict(compared(EDGE, 1, "ada", 9, won=False)) == "worse than all"


def test_a_par_without_any_spread_says_so() -> None:
    same = svg(Par.of(GAMES["the-edge"], "a.0", {}, [15] * 60), ())
    assert "60 plays, cards home: 15 every time; 0 solved" in same
    assert [percent(share) for share in (0, 1 / 200, 1 / 60, 0.62, 1)] == ["0%", "0.5%", "1.7%", "62%", "100%"]

"""Deal filters: they match docs/bots/bots.md and its check values, and claimed deals are checked."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from samedeal.computer import deal_filters
from samedeal.computer.bot import Bot
from samedeal.computer.bots import Run, plays
from samedeal.computer.deal_filters import (
    FILTERS,
    GRADES,
    check,
    daily_filter,
    filters,
    first,
    has_grades,
    passes,
    usual_filter,
)
from samedeal.computer.first_bots import FIRST_BOTS
from samedeal.game import Game, Variant
from samedeal.games.catalogue import GAMES
from samedeal.solver.solve import solve
from support.vectors import VECTORS

pytestmark = pytest.mark.tier(3)

PAGE = (Path(__file__).parents[2] / "docs" / "bots" / "bots.md").read_text(encoding="utf-8")
FRIENDLY, CERTIFIED = "friendly/1", "certified/1"
FIRSTS: list[dict[str, Any]] = [each for each in VECTORS["filters"] if each["filter"] == FRIENDLY]
CERTIFIED_FIRSTS: list[dict[str, Any]] = [each for each in VECTORS["filters"] if each["filter"] != FRIENDLY]
GRIDS = [GAMES["the-edge"], GAMES["kings-in-the-corners"]]


def wins(game: type[Game], seed: str) -> int:
    return sum(run.won for run in plays(game, seed, range(60), bot=FIRST_BOTS[game.slug]))


def test_check_values_have_deals_of_every_filtered_game() -> None:
    assert {each["game"] for each in FIRSTS} == {"the-edge", "kings-in-the-corners", "corners"}
    assert all(f"`{name}`" in PAGE for name in FILTERS)


@pytest.mark.parametrize("listed", FIRSTS, ids=lambda listed: f"{listed['game']}-{listed['root']}")
def test_the_first_friendly_deals_match_the_check_values(listed: dict[str, Any]) -> None:
    game = GAMES[listed["game"]]
    assert first(game, listed["root"], {}, FRIENDLY) == listed["k"]
    assert wins(game, f"{listed['root']}.{listed['k']}") == listed["won"]


@pytest.mark.parametrize("listed", CERTIFIED_FIRSTS, ids=lambda listed: f"{listed['game']}-{listed['root']}")
def test_the_first_certified_deals_match_the_check_values(listed: dict[str, Any]) -> None:
    game, seed = GAMES[listed["game"]], f"{listed['root']}.{listed['k']}"
    assert first(game, listed["root"], {}, listed["filter"]) == listed["k"]
    assert sum(run.won for run in plays(game, seed, range(20), bot=FIRST_BOTS[game.slug])) == listed["won"]


def test_check_values_have_a_deal_of_every_grade() -> None:
    listed = {(each["game"], each["filter"]) for each in CERTIFIED_FIRSTS if each["filter"] != CERTIFIED}
    assert listed == {(slug, grade) for slug, game in GAMES.items() for grade in GRADES if has_grades(game)}


@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)
def test_no_deal_has_two_grades(game: type[Game]) -> None:
    if has_grades(game):
        for k in range(15):
            assert sum(passes(game, f"1.{k}", {}, grade) for grade in GRADES) <= 1


@pytest.mark.parametrize(("grade", "fewest", "most"), [("easy/1", 12, 20), ("medium/1", 6, 11), ("hard/1", 2, 5)])
def test_the_grade_of_a_deal_on_the_grid_is_the_number_of_wins(grade: str, fewest: int, most: int) -> None:
    game = GAMES["kings-in-the-corners"]
    for k in range(60):
        won = sum(run.won for run in plays(game, f"2.{k}", range(20), bot=FIRST_BOTS[game.slug]))
        assert passes(game, f"2.{k}", {}, grade) <= (fewest <= won <= most)
    k = first(game, "2", {}, grade)
    assert fewest <= sum(run.won for run in plays(game, f"2.{k}", range(20), bot=FIRST_BOTS[game.slug])) <= most


def test_some_games_have_no_grades() -> None:
    assert [slug for slug, game in GAMES.items() if not has_grades(game)] == [
        "corner-stones",
        "golf",
        "freecell",
        "klondike",
    ]
    assert filters(GAMES["corner-stones"]) == ("any",)
    assert filters(GAMES["gallery"]) == ("any", *GRADES)
    assert filters(GAMES["corners"]) == (CERTIFIED, "any", FRIENDLY, *GRADES)


def test_a_certified_deal_can_be_won_but_not_by_the_first_legal_moves() -> None:
    for slug in {each["game"] for each in FIRSTS}:
        game = GAMES[slug]
        for root in ("b", "c", "d"):
            seed = f"{root}.{first(game, root, {}, CERTIFIED)}"
            position = game.from_seed(seed)
            while moves := position.moves():
                position = position.after(moves[0])
            assert not position.won
            is_won_by_bot = any(run.won for run in plays(game, seed, range(20)))
            assert is_won_by_bot or solve(game.from_seed(seed), deal_filters.NODES).outcome == "won"


def test_a_deal_that_the_first_legal_moves_win_is_not_certified() -> None:
    corners = GAMES["corners"]
    for k in range(200):
        position = corners.from_seed(f"1.{k}")
        while moves := position.moves():
            position = position.after(moves[0])
        if position.won:
            assert not passes(corners, f"1.{k}", {}, CERTIFIED)
            assert solve(corners.from_seed(f"1.{k}"), deal_filters.NODES).outcome == "won"
            return
    raise AssertionError


@pytest.mark.parametrize(
    ("results", "expected", "made"),
    [
        ("-" * 60, False, 43),
        ("-" * 42 + "+" * 18, True, 60),
        ("-" * 42 + "+" * 17 + "-", False, 60),
        ("+" * 18 + "-" * 42, True, 30),
        ("+" * 48 + "-" * 12, True, 60),
        ("-" * 12 + "+" * 48, True, 30),
        ("+" * 60, False, 49),
        ("-" * 11 + "+" * 49, False, 60),
    ],
)
def test_the_bounds_pass_and_no_play_is_wasted(
    monkeypatch: pytest.MonkeyPatch, results: str, expected: bool, made: int
) -> None:
    seen: list[int] = []

    def played(game: type[Game], seed: str, numbers: Iterable[int], variant: Variant, bot: Bot) -> Iterator[Run]:
        assert bot.name == "the-edge-bot/1"
        for k in numbers:
            seen.append(k)
            yield Run("bot", k, (), 0, results[k] == "+")

    monkeypatch.setattr(deal_filters, "plays", played)
    assert passes(GRIDS[0], "1", {}, FRIENDLY) == expected
    assert seen == list(range(made))


@pytest.mark.parametrize("slug", ["corner-stones", "gallery"])
def test_every_deal_of_the_other_games_is_friendly(slug: str) -> None:
    assert passes(GAMES[slug], "x", {}, FRIENDLY)
    assert first(GAMES[slug], "x", {}, FRIENDLY) == 0


def test_sealed_deals_are_certified_in_every_filtered_game() -> None:
    usual = {slug: usual_filter(game) for slug, game in GAMES.items()}
    assert {slug for slug, name in usual.items() if name == CERTIFIED} == {each["game"] for each in FIRSTS}
    assert {name for slug, name in usual.items() if name != CERTIFIED} == {"any"}


def test_the_filter_of_a_day_that_has_begun_never_changes() -> None:
    corners, gallery = GAMES["corners"], GAMES["gallery"]
    assert [daily_filter(corners, date) for date in ("2026-11-30", "2026-12-01")] == [FRIENDLY, CERTIFIED]
    assert {daily_filter(gallery, date) for date in ("2026-11-30", "2026-12-01")} == {"any"}


@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)
def test_the_filter_any_accepts_only_the_first_deal(game: type[Game]) -> None:
    assert first(game, "1", {}, "any") == 0
    assert check(game, "1", {}, "any", 0)
    assert not check(game, "1", {}, "any", 1)


@pytest.mark.parametrize(("slug", "k"), [("corners", 25), ("kings-in-the-corners", 9)])
def test_a_deal_number_out_of_range_is_refused(slug: str, k: int) -> None:
    claimed = [k - 1, k + 1, 0, -1, deal_filters.TRIES, 10**9]
    assert check(GAMES[slug], "1", {}, FRIENDLY, k)
    assert not [other for other in claimed if check(GAMES[slug], "1", {}, FRIENDLY, other)]


def test_a_later_deal_that_also_passes_is_refused() -> None:
    corners = GAMES["corners"]
    later = next(k for k in range(26, 200) if passes(corners, f"1.{k}", {}, FRIENDLY))
    assert not check(corners, "1", {}, FRIENDLY, later)


def test_a_root_without_a_passing_deal_raises_lookup_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deal_filters, "TRIES", 25)
    with pytest.raises(LookupError, match="none of the first 25 deals of the root '1' passes friendly/1"):
        first(GAMES["corners"], "1", {}, FRIENDLY)
    assert not check(GAMES["corners"], "1", {}, FRIENDLY, 25)


@pytest.mark.parametrize("name", ["", "friendly", "friendly/2"])
def test_an_unknown_filter_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"is not a valid filter \(try any, .*hard/1 or brutal/1\)"):
        first(GAMES["gallery"], "1", {}, name)


def test_a_root_with_a_bar_is_refused() -> None:
    with pytest.raises(ValueError, match=r"a text without \|"):
        first(GAMES["corners"], "a|b", {}, FRIENDLY)

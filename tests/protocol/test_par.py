"""Par: the computer's results on a deal, and how a player compares with them."""

import msgspec
import pytest

from samedeal.computer.bots import BOTS, Run, play
from samedeal.computer.par import Par, compared, par
from samedeal.games.catalogue import GAMES

pytestmark = pytest.mark.tier(2)


def made(slug: str, *homes: int) -> Par:
    return Par.of(GAMES[slug], "x", {}, homes)


def placed(par: Par, home: int, won: bool) -> tuple[float, float, float]:
    racer = compared(par, 1, "ada", home, won)
    return racer.worse, racer.equal, racer.better


def test_the_default_numbers_of_plays_match_the_documentation() -> None:
    usual = {slug: bot.par_plays for slug, bot in BOTS.items() if bot.par_plays != 60}
    assert usual == {"corner-stones": 20, "gallery": 200, "freecell": 20}


@pytest.mark.parametrize("slug", BOTS)
@pytest.mark.tier(3)
def test_each_result_is_that_of_a_reproducible_play(slug: str) -> None:
    runs: list[Run] = []
    result = par(GAMES[slug], "a.0", None, 4, runs.append)
    assert (result.game, result.deal, result.bot, result.plays) == (slug, f"{slug}:a.0", BOTS[slug].name, 4)
    assert runs == [play(GAMES[slug], "a.0", k) for k in range(4)]
    assert result.homes == tuple(GAMES[slug].goal if run.won else run.home for run in runs)
    assert par(GAMES[slug], "a.0", {}, 4) == result


def test_the_par_of_a_gallery_deal_matches_the_documentation() -> None:
    result = par(GAMES["gallery"], "1")
    assert result.plays == 200
    assert (result.minimum, result.median, result.mean, result.maximum, result.solved) == (26, 33, 29.71, 33, 0)
    assert placed(result, 66, won=False)[0] == 0.53


def test_a_won_play_counts_as_the_goal() -> None:
    result = par(GAMES["the-edge"], "a.0")
    assert (result.plays, result.solved, result.maximum) == (60, 24, 52)
    assert result.homes.count(52) == 24


def test_the_variant_is_played_and_recorded() -> None:
    result = par(GAMES["corners"], "1.2", {"refill": "waste"}, 3)
    assert (result.variant, result.homes[0]) == ({"refill": "waste"}, 48)
    assert par(GAMES["corners"], "1.2", None, 3).homes[0] < 48


def test_the_figures_are_what_players_quote() -> None:
    even, odd = made("corners", 10, 48, 20, 30), made("corners", 10, 48, 20)
    assert (even.minimum, even.median, even.mean, even.maximum, even.solved) == (10, 25, 27, 48, 1)
    assert (odd.median, odd.mean) == (20, 26)
    scores = made("gallery", 96, 60, 70)
    assert scores.results == (0, 36, 26)
    assert (scores.minimum, scores.median, scores.maximum, scores.solved) == (0, 26, 36, 1)


def test_a_player_is_ranked_among_the_plays() -> None:
    result = made("gallery", 60, 96, 70, 70)
    assert placed(result, 70, won=False) == (0.25, 0.5, 0.25)
    assert placed(result, 71, won=False) == (0.75, 0, 0.25)
    assert placed(result, 0, won=False) == (0, 0, 1)
    assert placed(result, 96, won=True) == (0.75, 0.25, 0)
    edge = made("the-edge", 52, 40)
    assert placed(edge, 45, won=True) == (0.5, 0.5, 0)
    assert placed(edge, 45, won=False) == (0.5, 0, 0.5)


def test_squares_go_from_the_computers_best_play_to_its_worst() -> None:
    result = made("gallery", 60, 96, 70, 80)
    assert compared(result, 1, "ada", 70, won=False).squares == ("solved", "better", "equal", "worse")
    assert compared(result, 1, "ada", 96, won=True).squares == ("solved", "worse", "worse", "worse")


def test_a_racer_is_compared_with_par() -> None:
    gallery = compared(made("gallery", 60, 96, 70, 80), 2, "ada", 70, won=False)
    assert (gallery.seat, gallery.name, gallery.home, gallery.won, gallery.result) == (2, "ada", 70, False, 26)
    assert (gallery.worse, gallery.equal, gallery.better) == (0.25, 0.25, 0.5)
    assert gallery.squares == ("solved", "better", "equal", "worse")
    edge = compared(made("the-edge", 52, 40), 1, "bo", 45, won=True)
    assert (edge.home, edge.result, edge.equal) == (45, 52, 0.5)
    boasts = [compared(made("corners", 40, 20, 20, 9), 1, "ada", home, won=False).boast for home in (41, 21, 20, 10, 9)]
    assert boasts == ["better than the computer", "better than 75% of the computer’s games", *[""] * 3]
    assert [made(slug, 10).counted for slug in ("gallery", "corners")] == ["left", "home"]


def test_par_can_be_encoded_and_requires_a_play() -> None:
    result = made("gallery", 60, 96)
    assert msgspec.json.decode(msgspec.json.encode(result), type=Par) == result
    with pytest.raises(ValueError, match="at least one play"):
        par(GAMES["gallery"], "1", None, 0)

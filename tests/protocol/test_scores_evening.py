"""Matchpoints, and the table of an evening."""

from fractions import Fraction
from math import nextafter
from random import Random

import pytest

from samedeal import codec
from samedeal.scores.evening import Evening, SignedEvening, evening, matchpoints
from samedeal.scores.results import RaceResult
from support.race_results import race, racer, result


def rows(scores: Evening) -> list[tuple[int, str, float, int, int]]:
    return [(row.place, row.player, row.points, row.races, row.wins) for row in scores.table]


@pytest.mark.parametrize(
    ("places", "points"),
    [
        ([], ()),
        ([1], (0,)),
        ([1, 2], (2, 0)),
        ([1, 1], (1, 1)),
        ([1, 2, 3], (4, 2, 0)),
        ([1, 2, 2], (4, 1, 1)),
        ([1, 1, 3, 3], (5, 5, 1, 1)),
        ([3, 1, 2], (0, 4, 2)),
    ],
)
def test_matchpoints_count_rivals_beaten_twice_and_ties_once(places: list[int], points: tuple[int, ...]) -> None:
    assert matchpoints(places) == points


def test_two_racers_get_a_point_for_each_win() -> None:
    scores = evening([race("a", {"ada": 1, "bo": 2}), race("b", {"bo": 1, "ada": 2}), race("c", {"ada": 1, "bo": 2})])
    assert rows(scores) == [(1, "ada", 2.0, 3, 2), (2, "bo", 1.0, 3, 1)]
    assert scores.best_of == {"3": "ada"}
    assert codec.encode(scores, "json").startswith(
        b'{"best_of":{"3":"ada"},"races":["a","b","c"],"table":[{"bot":false,'
    )


def test_rows_have_the_seats_of_the_newest_race() -> None:
    first = result("a", racers=(racer("p1", 1, name="ada", seat=1), racer("p2", 2, name="ada", seat=2)))
    second = result("b", racers=(racer("p2", 1, name="ada", seat=3), racer("p3", 2, seat=1)))
    assert [(row.player, row.seat) for row in evening([first, second]).table] == [("p1", 1), ("p2", 3), ("p3", 1)]


def test_races_of_one_and_cancelled_races_do_not_count() -> None:
    scores = evening([race("a", {"ada": 1}), race("b", {}), race("c", {"bo": 1, "ada": 2}), race("d", {"cy": 1})])
    assert (scores.races, rows(scores)) == (("c",), [(1, "bo", 1.0, 1, 1), (2, "ada", 0.0, 1, 0)])
    assert evening([race("a", {"ada": 1})]) == Evening(races=(), table=(), best_of={})


def test_a_shared_first_place_is_not_a_win() -> None:
    scores = evening([race("a", {"ada": 1, "bo": 1, "cy": 3})])
    assert rows(scores) == [(1, "ada", 0.75, 1, 0), (1, "bo", 0.75, 1, 0), (3, "cy", 0.0, 1, 0)]


def test_equal_sums_are_tied_even_if_floats_would_round_them_apart() -> None:
    field = ["ada", "bo", "cy", "dee", "eve", "fay"]

    def ranked(*order: str) -> dict[str, int]:
        return {player: place for place, player in enumerate(order, start=1)}

    # ada: 1/5 + 2/5; bo: 3/5 + 0
    races = [
        race("a", ranked("cy", "dee", "bo", "eve", "ada", "fay")),
        race("b", ranked("eve", "fay", "cy", "ada", "dee", "bo")),
    ]
    assert sum([1 / 5, 2 / 5]) == nextafter(3 / 5, 1)
    by_player = {row.player: row for row in evening(races).table}
    assert by_player["ada"].points == by_player["bo"].points == 0.6
    assert by_player["ada"].place == by_player["bo"].place
    assert set(by_player) == set(field)


def test_points_are_the_exact_sums_rounded_once() -> None:
    random, players = Random(1), [f"player-{n}" for n in range(32)]
    races, exact = [], dict.fromkeys(players, Fraction())
    for number in range(60):
        field = random.sample(players, random.randrange(2, 33))
        places = sorted(random.randrange(1, 9) for _ in field)
        races.append(race(f"race-{number}", dict(zip(field, places, strict=True))))
        for player, place in zip(field, places, strict=True):
            beaten, tied = sum(other > place for other in places), places.count(place) - 1
            exact[player] += (beaten + Fraction(tied, 2)) / (len(field) - 1)
    table = evening(races).table
    assert [row.points for row in table] == pytest.approx([float(exact[row.player]) for row in table], rel=1e-15)
    ranked = sorted(exact.values(), reverse=True)
    assert [row.place for row in table] == [ranked.index(exact[row.player]) + 1 for row in table]


def test_players_are_shown_with_their_last_name() -> None:
    first = result("a", racers=(racer("1", 1, name="Ada"), racer("2", 2, name="Bo")))
    last = result("b", racers=(racer("1", 1, name="Countess"), racer("3", 2, name="Bo")))
    assert [(row.player, row.name) for row in evening([first, last]).table] == [
        ("1", "Countess"),
        ("2", "Bo"),
        ("3", "Bo"),
    ]


def test_the_first_player_with_enough_wins_has_won_the_match() -> None:
    def won(number: int, winner: str) -> RaceResult:
        return race(f"{number}", {winner: 1, "bo" if winner == "ada" else "ada": 2})

    winners = ["bo", "ada", "ada", "ada", "bo", "bo", "bo"]
    decided = [dict(evening([won(n, who) for n, who in enumerate(winners[:count])]).best_of) for count in range(8)]
    assert decided == [{}, {}, {}, {"3": "ada"}, *[{"3": "ada", "5": "ada"}] * 3, {"3": "ada", "5": "ada", "7": "bo"}]


def test_faults_leave_a_match_undecided() -> None:
    races = [race("a", {"ada": 1, "bo": 2}), race("b", {"ada": 1, "bo": 2}, follows="a")]
    known = SignedEvening.of(((each, "key") for each in races), "verified")
    assert (known.outcome, known.faults, known.best_of) == ("verified", (), {"3": "ada"})
    assert known.keys == {"key": ("a", "b")}
    assert known.table == evening(races).table
    signers = list(zip(races, ("key", "other"), strict=True))
    several = SignedEvening.of(reversed(signers), "key-unknown")
    assert (several.outcome, several.faults) == ("refused", ("signed by 2 different keys",))
    assert (several.best_of, several.keys) == ({}, {"key": ("a",), "other": ("b",)})
    assert SignedEvening.of(signers, "verified").faults == ()
    gap = SignedEvening.of(signers[1:], "verified")
    assert (gap.outcome, gap.faults) == ("refused", ("b follows a, which is missing",))

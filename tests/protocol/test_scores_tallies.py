"""Personal scores and head-to-head records."""

from random import Random

import pytest

from samedeal.day import Day
from samedeal.scores.results import RaceResult
from samedeal.scores.tallies import GameRecord, GameScores, PersonalTally, VersusTally
from support.bot_races import PLAYERS, bot_races
from support.race_results import GOAL, race, racer, result

TODAY = Day(100)


def personal(*results: RaceResult, player: str = "ada") -> PersonalTally:
    tally = PersonalTally(player)
    for each in results:
        tally.add(each)
    return tally


def versus(*results: RaceResult) -> VersusTally:
    tally = VersusTally("ada", "bo")
    for each in results:
        tally.add(each)
    return tally


def test_personal_scores_count_races_wins_and_solved_deals_for_each_game() -> None:
    scores = personal(
        result("a", racers=(racer("ada", 1, won=True, home=40, ms=900), racer("bo", 2))),
        result("b", racers=(racer("bo", 1, won=True), racer("ada", 2, home=41, ms=10))),
        result("c", game="the-edge", racers=(racer("ada", 1, won=True, ms=800),)),
        result("d", game="the-edge", racers=(racer("ada", 1, home=30), racer("bo", 1, home=30))),
        result("e", game="the-edge", racers=(racer("bo", 1),)),
    ).scores(TODAY)
    assert (scores.races, scores.wins, scores.solved) == (4, 1, 2)
    assert scores.games == (
        GameScores(game="corners", races=2, wins=1, solved=1, best_ms=900, best=GOAL, goal=GOAL, counted="home"),
        GameScores(game="the-edge", races=2, wins=0, solved=1, best_ms=800, best=GOAL, goal=GOAL, counted="home"),
    )


def test_the_best_result_is_quoted_as_players_do() -> None:
    races = [
        result(f"{slug}-{home}", game=slug, racers=(racer("ada", 1, home=home),))
        for slug in ("gallery", "corner-stones", "a-game-of-the-future")
        for home in (7, 30, 12)
    ]
    games = {each.game: (each.best, each.counted, each.best_ms) for each in personal(*races).scores(TODAY).games}
    assert games == {
        "a-game-of-the-future": (30, "home", None),
        "corner-stones": (30, "home", None),
        "gallery": (GOAL - 30, "left", None),
    }


@pytest.mark.parametrize(
    ("days", "streak", "longest"),
    [
        ([], 0, 0),
        ([100], 1, 1),
        ([99], 1, 1),
        ([98], 0, 1),
        ([98, 99], 2, 2),
        ([98, 99, 100], 3, 3),
        ([100, 98], 1, 1),
        ([10, 11, 12, 13, 99, 100, 100], 2, 4),
        ([100, 101], 1, 2),
    ],
)
def test_streaks_are_consecutive_days_with_a_daily_race(days: list[int], streak: int, longest: int) -> None:
    races = [race(f"{n}", {"ada": 1}, day=day, daily=True) for n, day in enumerate(days)]
    other = race("other", {"ada": 1}, day=97), race("bo", {"bo": 1}, day=98, daily=True)
    scores = personal(*races, *other).scores(TODAY)
    assert (scores.streak, scores.longest_streak) == (streak, longest)


def test_the_newest_name_is_shown() -> None:
    old = result("z", ended=1, racers=(racer("ada", 1, name="Old"), racer("bo", 2, name="Bob")))
    new = result("a", ended=2, racers=(racer("ada", 1, name="New"), racer("bo", 2, name="Bo")))
    later = result("b", ended=2, racers=(racer("ada", 1, name="Newest"),))
    for order in ((old, new, later), (later, new, old), (new, later, old)):
        assert personal(*order).scores(TODAY).name == "Newest"
        assert (versus(*order).record().name, versus(*order).record().other_name) == ("New", "Bo")


def test_a_player_without_races_has_empty_scores() -> None:
    scores = personal(race("a", {"bo": 1})).scores(TODAY)
    assert (scores.name, scores.bot, scores.races, scores.games) == ("", False, 0, ())
    assert (versus().record().races, versus().record().games) == (0, ())


def test_head_to_head_counts_races_of_both() -> None:
    record = versus(
        race("a", {"ada": 1, "bo": 2}),
        race("b", {"cy": 1, "bo": 2, "ada": 3}),
        race("c", {"ada": 1, "bo": 1}, game="the-edge"),
        race("d", {"ada": 1, "cy": 2}),
        race("e", {"cy": 1, "bo": 2}),
        race("f", {}),
    ).record()
    assert (record.races, record.ahead, record.behind, record.tied) == (3, 1, 1, 1)
    assert record.games == (
        GameRecord(game="corners", races=2, ahead=1, behind=1, tied=0),
        GameRecord(game="the-edge", races=1, ahead=0, behind=0, tied=1),
    )


def test_tallies_do_not_depend_on_order_or_on_how_races_are_divided() -> None:
    results = [RaceResult.of_log(replay) for replay in bot_races(120)]
    random, (one, other) = Random(1), PLAYERS[:2]
    whole, record = personal(*results, player=one), VersusTally(one, other)
    for each in results:
        record.add(each)
    assert record.record().races > 5
    for _ in range(10):
        random.shuffle(results)
        cut = random.randrange(len(results))
        parts = [personal(*part, player=one) for part in (results[:cut], results[cut:])]
        records = VersusTally(one, other), VersusTally(one, other)
        for tally, part in zip(records, (results[:cut], results[cut:]), strict=True):
            for each in part:
                tally.add(each)
        assert parts[0].merged(parts[1]).scores(TODAY) == whole.scores(TODAY)
        assert records[0].merged(records[1]).record() == record.record()

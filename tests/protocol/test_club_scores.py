"""The tables and ratings of a club: periods, points, and strengths that do not depend on the order of the races."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from random import Random

import pytest

from samedeal import codec
from samedeal.errors import Refused
from samedeal.race.club import AnyClubEvent, Club, ClubCancelled, ClubFinished, ClubOpened
from samedeal.scores import club_scores
from samedeal.scores.club_scores import ClubScores, Period, RatingRow, read_club_scores, since, tally_of
from support.clubs import DIGEST, ID, LoggedClub, header

Races = Sequence[tuple[str, Mapping[str, int]]]
"""Games with places."""


def ms(text: str) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


def scores_of(races: Races, at: Sequence[str] = ("2026-11-27",)) -> ClubScores:
    """Return the scores after races that end at some times, the last one of which is repeated."""
    logged = LoggedClub(Club.opened(header(0)))
    for number, (game, places) in enumerate(races):
        logged.say(ClubOpened(race=f"r-{number}", commitment=DIGEST, games=(game,)))
        event = ClubFinished(race=f"r-{number}", digest=DIGEST, places=(dict(places),))
        logged.at(ms(at[min(number, len(at) - 1)]), event)
    return tally_of(Club.opened(header(0)), logged.entries)[1].scores(ID)


def rows(scores: ClubScores, period: Period) -> list[tuple[int, str, float, int, int]]:
    (table,) = [table for table in scores.tables if table.period == period]
    return [(row.place, row.player, row.points, row.races, row.wins) for row in table.rows]


@pytest.mark.parametrize(
    ("at", "day", "week", "season"),
    [
        ("1970-01-01T00:00:00", "1970-01-01", "1969-12-29", "1970-01-01"),
        ("2026-11-27T23:59:59.999", "2026-11-27", "2026-11-23", "2026-10-01"),
        ("2026-11-30T00:00:00", "2026-11-30", "2026-11-30", "2026-10-01"),
        ("2026-12-31T12:00:00", "2026-12-31", "2026-12-28", "2026-10-01"),
        ("2027-01-01T00:00:00", "2027-01-01", "2026-12-28", "2027-01-01"),
        ("2027-01-03T23:59:59.999", "2027-01-03", "2026-12-28", "2027-01-01"),
        ("2027-01-04T00:00:00", "2027-01-04", "2027-01-04", "2027-01-01"),
        ("2028-02-29T00:00:00", "2028-02-29", "2028-02-28", "2028-01-01"),
        ("2028-06-30T23:59:59.999", "2028-06-30", "2028-06-26", "2028-04-01"),
        ("2028-07-01T00:00:00", "2028-07-01", "2028-06-26", "2028-07-01"),
        ("9999-12-31T23:59:59.999", "9999-12-31", "9999-12-27", "9999-10-01"),
    ],
)
def test_periods_begin_with_the_day_the_monday_and_the_quarter_in_utc(
    at: str, day: str, week: str, season: str
) -> None:
    assert since("day", ms(at)) == ms(day)
    assert since("week", ms(at)) == ms(week)
    assert since("season", ms(at)) == ms(season)
    assert since("all", ms(at)) == 0


def test_tables_are_those_of_the_periods_of_the_last_race() -> None:
    race = ("corners", {"a": 1, "b": 2})
    at = ["2026-09-30T23:59:59.999", "2026-12-20T12:00:00", "2026-12-28T12:00:00", "2026-12-30T12:00:00"]
    scores = scores_of([race] * 4, at)
    assert [(table.period, table.since, table.rows[0].races) for table in scores.tables] == [
        ("day", ms("2026-12-30"), 1),
        ("week", ms("2026-12-28"), 2),
        ("season", ms("2026-10-01"), 3),
        ("all", 0, 4),
    ]
    in_january = scores_of([race] * 5, [*at, "2027-01-01T00:00:00"])
    assert [table.rows[0].races for table in in_january.tables] == [1, 3, 1, 5]


def test_points_ties_and_wins_are_those_of_an_evening() -> None:
    races = [("golf", {"c": 1, "a": 1, "b": 3}), ("corners", {"b": 1, "a": 2}), ("golf", {"c": 1})]
    assert rows(scores_of(races), "all") == [
        (1, "b", 1.0, 2, 1),
        (2, "a", 0.75, 2, 0),
        (2, "c", 0.75, 1, 0),
    ]


def test_players_with_equal_points_are_in_the_order_of_their_races_then_ids() -> None:
    races = [("golf", {"z": 1, "y": 1}), ("golf", {"b": 1, "10": 1, "9": 1})]
    assert [row[1] for row in rows(scores_of(races), "all")] == ["y", "z", "10", "9", "b"]


def test_cancelled_races_and_those_with_a_head_start_do_not_count() -> None:
    logged = LoggedClub()
    events: list[AnyClubEvent] = [ClubCancelled(race="r-0"), ClubFinished(race="r-1", digest=DIGEST)]
    for number, event in enumerate(events):
        logged.say(ClubOpened(race=f"r-{number}", commitment=DIGEST, games=("golf",)))
        logged.say(event)
    scores = tally_of(Club.opened(header()), logged.entries)[1].scores(ID)
    assert (scores.n, scores.rated, scores.ratings) == (4, 4, {})
    assert [(table.since, table.rows) for table in scores.tables] == [(0, ())] * 4


def test_each_deal_of_a_challenge_is_a_race_in_its_game() -> None:
    logged = LoggedClub()
    logged.say(ClubOpened(race="c", commitment=DIGEST, games=("golf", "corners", "golf")))
    places = ({"a": 1, "b": 2}, {"a": 1}, {"b": 1, "a": 2})
    logged.say(ClubFinished(race="c", digest=DIGEST, places=places))
    scores = tally_of(Club.opened(header()), logged.entries)[1].scores(ID)
    assert rows(scores, "all") == [(1, "a", 1.0, 2, 1), (1, "b", 1.0, 2, 1)]
    assert scores.ratings == {"golf": tuple(RatingRow(player=each, strength=1.0, races=2) for each in "ab")}


# Ratings.


def strengths(races: Races) -> dict[str, dict[str, float]]:
    return {game: {row.player: row.strength for row in rows} for game, rows in scores_of(races).ratings.items()}


def test_a_winner_of_one_race_has_the_strength_computed_by_hand() -> None:
    """With a win of a over b and a tie of each against strength 1, the likelihood is highest if a·b = 1 and
    a/(a + b) + a/(a + 1) = 3/2, so a is the root of a³ - a² - a - 3.
    """
    found = strengths([("golf", {"a": 1, "b": 2})])["golf"]
    assert found["a"] == pytest.approx(2.13039543476728, rel=1e-9)
    assert found["a"] * found["b"] == pytest.approx(1, rel=1e-9)


def test_the_iteration_is_the_one_that_is_documented(monkeypatch: pytest.MonkeyPatch) -> None:
    """In fractions and with the players in order, after few rounds."""
    monkeypatch.setattr(club_scores, "ROUNDS", 4)
    races = [("golf", {"a": 1, "b": 2, "c": 2}), ("golf", {"c": 1, "a": 2})]
    won, met = {"a": Fraction(2), "b": Fraction(1, 2), "c": Fraction(3, 2)}, {"a": "bcc", "b": "ac", "c": "aab"}
    exact = dict.fromkeys("abc", Fraction(1))
    for _ in range(4):
        for player in exact:
            total = 1 / (exact[player] + 1) + sum(1 / (exact[player] + exact[rival]) for rival in met[player])
            exact[player] = (won[player] + Fraction(1, 2)) / total
    found = strengths(races)["golf"]
    assert {player: float(value) for player, value in exact.items()} == pytest.approx(found, rel=1e-14)


def test_strengths_do_not_depend_on_the_order_of_the_races() -> None:
    random, players = Random(1), [f"player-{number}" for number in range(12)]
    races = [
        (random.choice(("golf", "corners")), {each: random.randint(1, 4) for each in random.sample(players, 4)})
        for _ in range(150)
    ]
    ordered = strengths(races)
    for _ in range(3):
        random.shuffle(races)
        shuffled = [(game, dict(random.sample([*places.items()], 4))) for game, places in races]
        assert strengths(shuffled) == ordered


def test_ratings_are_best_first_with_the_number_of_races() -> None:
    races = [("golf", {"a": 2, "b": 1}), ("golf", {"b": 1, "c": 2, "a": 3}), ("corners", {"d": 1, "c": 1})]
    found = scores_of(races).ratings
    assert {game: [(row.player, row.races) for row in rows] for game, rows in found.items()} == {
        "corners": [("c", 1), ("d", 1)],
        "golf": [("b", 2), ("c", 1), ("a", 2)],
    }
    assert [*found] == ["corners", "golf"]


@pytest.mark.parametrize(("players", "rated"), [(200, 200), (201, 0)])
def test_larger_fields_are_in_the_tables_but_not_in_the_ratings(players: int, rated: int) -> None:
    scores = scores_of([("golf", {f"player-{number}": number for number in range(1, players + 1)})])
    assert len(scores.tables[-1].rows) == players
    assert len(scores.ratings.get("golf", ())) == rated


# Files.


def test_scores_are_recognised_by_their_fields_and_read_strictly() -> None:
    scores = scores_of([("golf", {"a": 1, "b": 2})])
    data = codec.encode(scores, "json")
    assert read_club_scores(data) == scores
    for other in (b"[]", b"{}", b'{"club":1,"tables":1}', b"\xff", b""):
        assert read_club_scores(other) is None
    for before, now in (
        (b'"n":2', b'"n":2,"n":2'),
        (b'"n":2', b'"more":1,"n":2'),
        (b'"n":2', b'"n":-1'),
        (b'"points":1.0', b'"points":1'),
        (b'"golf"', b'"7"'),
        (b'"strength":2', b'"strength":-2'),
        (b'"period":"day"', b'"period":"hour"'),
    ):
        assert before in data
        with pytest.raises(Refused, match="not the scores of a club") as refused:
            read_club_scores(data.replace(before, now, 1))
        assert refused.value.code == "bad-replay"

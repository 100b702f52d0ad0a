"""Headlines of races and matches never contradict the result, and the page has the same ones."""

from random import Random

import pytest
from msgspec.structs import replace

from samedeal.games.catalogue import GAMES
from samedeal.names import seat_marks
from samedeal.race.standings import Standing
from samedeal.scores.evening import Evening, evening
from samedeal.scores.results import RaceResult
from samedeal.share.headlines import deal_line, match_headline, result_headline
from support.node import needs_node, run
from support.race_results import racer, result
from support.wording import standings

NAMES = ("Ada", "Ben", "Cy", "Ben", "Eve #2", "bob", "bo", "Mia")
OUTCOMES = ("won", "won", "lost", "stuck", "over", "resigned", "timeout", "scratched")
SCRIPT = """
import { readFileSync } from "node:fs";
const { resultHeadline, dealLine, matchHeadline } = await import(process.argv[1]);
const { races, matches, counted } = JSON.parse(readFileSync(0, "utf-8"));
const game = (slug) => ({ counted: counted[slug] });
console.log(JSON.stringify([
  races.map(([standings, seat, slug]) => [
    resultHeadline(standings, seat, game(slug)), ...standings.map((standing) => dealLine(standing, game(slug))),
  ]),
  matches.map((match) => matchHeadline(...match)),
]));
"""
ADA_WINS = ["1 Ada won 36 52200", "2 Ben lost 15 9000"]
FOUR = ["1 Ada lost 9 1", "2 Ben lost 8 1", "3 Cy lost 7 1", "3 Di lost 7 1", "5 Eve lost 5 1"]


@pytest.mark.parametrize(
    ("racers", "seat", "expected"),
    [
        (ADA_WINS, 1, "You beat Ben!"),
        (ADA_WINS, 2, "2nd of 2, behind Ada"),
        (ADA_WINS, None, "Ada won, ahead of Ben"),
        (FOUR, 1, "You beat Ben and 3 others!"),
        (FOUR, 2, "2nd of 5, behind Ada"),
        (FOUR, 3, "You and Di tied for 3rd of 5"),
        (FOUR, 5, "5th of 5, behind Ada and 3 others"),
        (FOUR[:3], 1, "You beat Ben and Cy!"),
        (FOUR[:3], None, "Ada won, ahead of Ben and Cy"),
        (["1 Ada stuck 9 9", "1 Ben stuck 9 9", "3 Cy lost 2 9"], 2, "You and Ada tied for 1st of 3"),
        (["1 Ada stuck 9 9", "1 Ben stuck 9 9", "3 Cy lost 2 9"], None, "Ada and Ben tied for 1st of 3"),
        (["1 Ada stuck 9 9", "1 Ben stuck 9 9", "1 Cy lost 9 9"], 2, "You and 2 others tied for 1st of 3"),
        (["1 Ada won 52 52200"], 1, "You solved it in 52.2 s!"),
        (["1 Ada won 52 52200"], None, "Ada solved it in 52.2 s"),
        (["1 Ada lost 15 52200"], 1, "Not solved: 15 of 52"),
        (["1 Ada lost 15 52200"], None, "Ada: not solved, 15 of 52"),
        (["1 Ada won 52 52200", "2 Ben scratched 0 0"], 1, "You solved it in 52.2 s!"),
        (["1 Ada won 52 52200", "2 Ben scratched 0 0"], 2, "You did not take part in this race"),
        (["1 Ada scratched 0 0"], None, "The race is over"),
    ],
)
def test_headline_names_the_place_and_the_rivals(racers: list[str], seat: int | None, expected: str) -> None:
    assert result_headline(standings(racers), seat, "the-edge") == expected


def test_game_played_for_its_score_has_scores_in_headlines() -> None:
    (alone,) = standings(["1 Ada over 15 9000"], 96)
    assert result_headline([alone], 1, "gallery") == "Score 81"
    assert result_headline([alone], None, "gallery") == "Ada: score 81"
    assert deal_line(alone, "gallery") == "Deal: score 81"


def test_line_about_the_deal_says_whether_it_was_solved() -> None:
    solved, unsolved = standings(["1 Ada won 36 63500", "2 Ben stuck 15 9"])
    assert deal_line(solved, "the-edge") == "Deal: solved in 1:03.5"
    assert deal_line(unsolved, "the-edge") == "Deal: not solved, 15 of 52"


MATCHES: list[tuple[list[str], int | None, str]] = [
    (["Ada Ben"], 1, "Match: you lead 1 : 0"),
    (["Ada Ben"], 2, "Match: Ada leads 1 : 0"),
    (["Ada Ben", "Ben Ada"], 1, "Match: tied 1 : 1"),
    (["Ada Ben", "Ben Ada", "Ada Ben"], 1, "You win the match 2 : 1"),
    (["Ada Ben", "Ben Ada", "Ada Ben"], None, "Ada wins the match 2 : 1"),
    (["Ada Ben", "Ada=Ben", "Ada Ben"], 2, "Ada wins the match 2.5 : 0.5"),
    (["Ada Ben", "Ada Ben", "Ben Ada"], 1, ""),
    (["Ada Ben", "Ada Ben", "Ada Ben"], 1, ""),
    (["Ada Ben", "Ada Ben", "Ben Ada", "Ben Ada"], 2, ""),
    (["Ada Ben", "Ada Ben", "Ada=Ben"], 1, ""),
    (["Ada Ben Cy"], 3, "Match: Ada leads"),
    (["Ada Ben Cy", "Ben Cy Ada"], 3, "Match: tied"),
    (["Ada Ben Cy", "Ben Cy Ada", "Cy Ben Ada", "Ben Cy Ada"], 1, "You win the match"),
    (["Ada Ben", "Cy Ben"], 1, "Match: tied"),
    (["Mia Ben Cy", "Mia Ada Ben", "Ben Cy"], 1, ""),
    (["Mia Ben Cy", "Ben Cy"], 2, "Match: tied"),
    (["Mia Ben", "Ben=Cy"], 1, "Match: Mia leads"),
]
"""Races of a best of 3 with the names of the racers, best first; the reader's seat in the last one; and the headline.
Seats are in the order of the names."""


@pytest.mark.parametrize(("races", "seat", "expected"), MATCHES)
def test_match_headline_says_who_has_won_or_leads(races: list[str], seat: int | None, expected: str) -> None:
    scores, last = match(races)
    assert match_headline(scores, 3, "r" + str(len(races)), last, seat) == expected


def test_there_is_no_match_headline_without_a_match_or_its_newest_race() -> None:
    scores, last = match(["Ada Ben"])
    assert match_headline(scores, 1, "r1", last, 1) == ""
    assert match_headline(scores, 3, "r2", last, 1) == ""
    assert match_headline(Evening(races=("r1",), table=(), best_of={}), 3, "r1", last, 1) == ""


@pytest.mark.parametrize("number", range(20))
def test_headlines_never_contradict_the_result(number: int) -> None:
    random = Random(number)
    racers = unique(random_standings(random))
    dealt = [each for each in racers if each.attempts]
    best = [each for each in dealt if each.place == 1]
    for each in dealt if len(dealt) > 1 else ():
        text = result_headline(racers, each.seat, "corners")
        assert ("You beat" in text) == (best == [each])
        assert ("tied" in text) == (sum(other.place == each.place for other in dealt) > 1)
        assert ("behind" in text) == (each not in best and "tied" not in text)


@needs_node
def test_headlines_of_the_page_are_equal() -> None:
    random = Random(7)
    races = [
        (random_standings(random), random.choice((None, *range(1, 9))), random.choice([*GAMES])) for _ in range(800)
    ]
    matches = [random_match(random) for _ in range(800)]
    matches += [(*scored(texts), seat) for texts, seat, _ in MATCHES]
    expected = [
        [result_headline(unique(given), seat, slug), *(deal_line(each, slug) for each in given)]
        for given, seat, slug in races
    ]
    headlines = [match_headline(*match[:3], unique(match[3]), match[4]) for match in matches]
    assert all(any(start in text for text in headlines) for start in ("You win", "wins", "leads", "you lead", "tied"))
    counted = {slug: game.counted for slug, game in GAMES.items()}
    content = {"races": races, "matches": matches, "counted": counted}
    assert run(SCRIPT, "headlines.js", content) == [expected, headlines]


def random_standings(random: Random) -> list[Standing]:
    """Return standings of 1 to 8 racers, with ties, equal names and racers who were not dealt in."""
    place, texts = 1, list[str]()
    names = random.sample(range(8), random.randint(1, 8))
    outcomes = sorted((random.choice(OUTCOMES) for _ in names), key="scratched".__eq__)
    for index, outcome in enumerate(outcomes, start=1):
        place = index if random.random() < 0.7 else place
        texts.append(f"{place} x {outcome} {random.randint(0, 96)} {random.choice((9_999, 60_000, 83_400))}")
    ranked = standings(texts, random.choice((52, 96)))
    seats = random.sample(range(1, 9), len(ranked))
    return [replace(each, seat=seat, name=NAMES[name]) for each, seat, name in zip(ranked, seats, names, strict=True)]


def random_match(random: Random) -> tuple[Evening, int, str, list[Standing], int | None]:
    people, races = random.sample(["Ada", "Ben", "Cy", "Mia"], random.randint(2, 4)), list[str]()
    for _ in range(random.randint(1, 6)):
        racers = random.sample(people, random.randint(2, len(people)))
        races.append(racers[0] + "".join(random.choice(("=", " ", " ")) + racer for racer in racers[1:]))
    scores, best_of, race, last = scored(races)
    return scores, random.choice((1, best_of, 5)), race, last, random.choice((None, 1, 2, 3))


def scored(races: list[str]) -> tuple[Evening, int, str, list[Standing]]:
    scores, last = match(races)
    return scores, 3, f"r{len(races)}", last


def match(races: list[str]) -> tuple[Evening, list[Standing]]:
    """Return the evening over races, and the standings of the last one; ``=`` between two names means a tie."""
    results, last = list[RaceResult](), list[Standing]()
    for number, text in enumerate(races, start=1):
        last, place = [], 1
        for seat, name in enumerate(text.replace("=", " =").split(), start=1):
            place = place if name.startswith("=") else seat
            last += [replace(each, seat=seat) for each in standings([f"{place} {name.lstrip('=')} lost 9 9"])]
        racers = tuple(racer(each.name, each.place, seat=each.seat) for each in last)
        results.append(result(f"r{number}", racers=racers))
    return evening(results), last


def unique(racers: list[Standing]) -> list[Standing]:
    marks = seat_marks({racer.seat: racer.name for racer in racers})
    return [replace(racer, name=racer.name + marks[racer.seat]) for racer in racers]

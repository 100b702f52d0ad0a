"""Sharing a race: its card as a picture, and its line of text."""

from typing import Any
from xml.etree import ElementTree

import pytest

from samedeal.games.catalogue import GAMES
from samedeal.race.race import Stage
from samedeal.race.standings import Standing
from samedeal.replays.timeline import Racer, ReplayStep, Steps, steps
from samedeal.share import preview_picture as card
from samedeal.share.phrases import achieved, clock, ordinal, short_date
from samedeal.share.shared_race import SharedRace
from samedeal.share.svg_text import escaped
from samedeal.share.text import pace, text
from support.finished_races import DAY, finished, opened
from support.wording import WORDING, library_wording

LINK = "https://race.example/r/calm-otter-42"
SVG = "{http://www.w3.org/2000/svg}"


def standing(seat: int, name: str, **fields: Any) -> Standing:
    usual: dict[str, Any] = {"place": seat, "bot": False, "outcome": "resigned", "done": True, "home": 31, "goal": 44}
    return Standing(**usual | {"progress": 0.7, "attempts": 1, "ms": 252_345} | fields, seat=seat, name=name)


def shared(*standings: Standing, stage: Stage = "over", **fields: Any) -> SharedRace:
    usual: dict[str, Any] = {"race": "calm-otter-42", "game": "corners", "daily": False, "date": "2026-11-22"}
    seats = {"seats": len(standings), "max_racers": 8}
    return SharedRace(**usual | seats | fields, stage=stage, standings=standings)


def words(race: SharedRace) -> list[str]:
    """Return the texts of a card, which must be valid XML."""
    root = ElementTree.fromstring(card.svg(race))
    assert (root.tag, root.get("width"), root.get("height")) == (f"{SVG}svg", "1200", "630")
    assert root.get("aria-label") == card.description(race)
    return ["".join(element.itertext()) for element in root.iter(f"{SVG}text")]


ADA, BO = standing(1, "Ada", outcome="won", home=44), standing(2, "Bo")


def test_phrases() -> None:
    assert [clock(ms) for ms in (0, 83_450, 252_399, -5_000)] == ["0:00.0", "1:23.4", "4:12.3", "-0:05.0"]
    assert clock(252_399, tenths=False) == "4:12"
    places = {1: "1st", 2: "2nd", 3: "3rd", 4: "4th", 11: "11th", 12: "12th", 13: "13th", 21: "21st", 32: "32nd"}
    assert {number: ordinal(number) for number in places} == places
    assert (short_date("2026-11-22"), short_date("2027-01-01")) == ("22 Nov", "1 Jan")


@pytest.mark.parametrize("slug", GAMES)
def test_every_finished_race_can_be_shared(slug: str) -> None:
    replay = finished(slug, moves=120)
    *_, race = replay.races()
    result = SharedRace.of(race, 0)
    assert (result.stage, result.date, result.seats) == ("over", DAY, 2)
    assert result.standings == replay.standings
    assert {"ada", "bo", "The race is over"} <= set(words(result))
    timeline = steps(replay)
    for own in replay.standings:
        squares = pace(timeline, own.seat)
        assert len(squares) == 8
        assert list(squares) == sorted(squares), "progress never goes back"
        assert squares[-1] == "▁▂▃▄▅▆▇█"[own.home * 7 // own.goal]
        place = f"{ordinal(own.place)} of 2 · {achieved(slug, own.home, own.goal)}"
        line = f"Same Deal · {GAMES[slug].title} · {place} {squares}"
        assert text(result, LINK, own.seat, pace=squares) == f"{line}\n{LINK}\n"


def test_text_of_a_daily_win_has_everything_once_the_deal_is_public() -> None:
    race = shared(standing(3, "Cy", outcome="won", place=1), replaced(ADA, place=2), BO, daily=True)
    line = "Same Deal · Corners · daily 22 Nov · 2nd of 3 · solved in 4:12.3"
    assert text(race, LINK, 1, pace="▁▂▃▅▅▆▇█", boast="better than 91%").splitlines() == [
        f"{line} · better than 91% ▁▂▃▅▅▆▇█",
        LINK,
    ]
    assert text(race, LINK, 1).splitlines()[0] == line


def replaced(racer: Standing, **fields: Any) -> Standing:
    return standing(racer.seat, racer.name, **{"outcome": racer.outcome, "home": racer.home, **fields})


def test_text_of_each_stage() -> None:
    waiting = [standing(1, "Ada", outcome="waiting", attempts=0), standing(2, "שלום", outcome="ready", attempts=0)]
    lines = {
        "Same Deal · Corners · race me: 2 of 8 seats taken": shared(*waiting, stage="open"),
        "Same Deal · Corners · the race is running, Ada and \u2068שלום\u2069": shared(*waiting, stage="running"),
        "Same Deal · Corners · the race is running": shared(stage="countdown"),
        "Same Deal · Corners · cancelled": shared(*waiting, stage="cancelled"),
        "Same Deal · Corners · Ada solved in 4:12.3 and Bo 31 of 44": shared(ADA, BO),
        "Same Deal · Corners · Bo 31 of 44": shared(BO, standing(3, "Cy", outcome="scratched", attempts=0)),
    }
    for line, race in lines.items():
        assert text(race, LINK) == f"{line}\n{LINK}\n"
        assert text(race, LINK, 9, pace="▁", boast="best") == f"{line}\n{LINK}\n", "nobody has this seat"
    crowd = shared(*(standing(seat, f"N{seat}") for seat in range(1, 7)))
    assert "N2 31 of 44, N3 31 of 44 and 3 more\n" in text(crowd, LINK)
    alone = text(shared(ADA), LINK, 1)
    assert alone == f"Same Deal · Corners · solved in 4:12.3\n{LINK}\n", "there is no place in a race of one"


def timeline(*moves: tuple[int, int, str], goal: int = 8) -> Steps:
    made = tuple(
        ReplayStep(n=n, ms=ms, move="x", changed={}, notes={}, home=home, attempt=1, outcome=outcome)
        for n, (ms, home, outcome) in enumerate(moves)
    )
    racer = Racer(seat=1, name="Ada", bot=False, steps=made)
    best = standing(1, "Ada", goal=goal)
    about: dict[str, Any] = {"race": "r", "game": "corners", "deal": None, "variant": {}, "opened_at": 0, "ms": 0}
    return Steps(**about, table={}, notes={}, racers=(racer,), standings=(best,))


def test_pace_is_the_best_progress_so_far_at_each_eighth() -> None:
    playing = [(100 * number, number, "playing") for number in range(1, 8)]
    assert pace(timeline(*playing, (800, 8, "won")), 1) == "▁▂▃▄▅▆▇█"
    assert pace(timeline((100, 7, "playing"), (800, 0, "playing")), 1) == "▇▇▇▇▇▇▇▇", "a restart loses nothing"
    assert pace(timeline((800, 8, "lost")), 1)[-1] == "▇", "only a win reaches the full height"
    assert pace(timeline((0, 1, "won")), 1) == "████████"
    assert pace(timeline(), 1) == pace(timeline(*playing), 2) == ""


def test_card_of_each_stage() -> None:
    waiting = [standing(1, "Ada", outcome="waiting", attempts=0)]
    assert words(shared(*waiting, stage="open")) == [
        "♠♥♣♦ Same Deal",
        "22 Nov 2026",
        "Race me at Corners",
        "The same deal for everyone · 1 of 8 seats taken",
        "Ada",
    ]
    assert {"Daily deal, 22 Nov 2026", "The race is running", "Ada"} <= set(
        words(shared(ADA, stage="running", daily=True))
    )
    assert "The race is about to start" in words(shared(stage="countdown"))
    assert "The race was cancelled" in words(shared(stage="cancelled"))
    assert words(shared(ADA, BO, standing(3, "Cy", attempts=0)))[3:] == [
        *("The race is over", "1", "solved in 4:12.3", "Ada", "2", "31 of 44", "Bo"),
    ]
    analysed = shared(ADA, BO, turning_points={2: "could have solved it up to move 5"})
    assert words(analysed)[-3:] == ["31 of 44", "could have solved it up to move 5", "Bo"]
    crowd = words(shared(*(standing(seat, "N") for seat in range(1, 33))))
    assert crowd[-4:] == ["3", "31 of 44", "N #3", "and 29 more"]


NAMES = [
    "</text><script>alert(1)</script>",
    "\"'><image href='//x'/>",
    "&amp;&quot;&lt;]]>",
    "<![CDATA[x]]><!--",
    "\u05e9\u05dc\u05d5\u05dd \u05e2\u05dc\u05d9\u05db\u05dd",
    "مرحبا",
    "😀👍🏽日本語",
    "W" * 48,
    "日" * 48,
    "z\u0308\u0308\u0308",
    "\x01\ufffe",
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("stage", ["open", "running", "over"])
def test_card_shows_any_name_as_text(name: str, stage: Stage) -> None:
    race = shared(standing(1, name), BO, stage=stage)
    shown = name.replace("\x01\ufffe", "\ufffd\ufffd")
    picture = card.svg(race)
    root = ElementTree.fromstring(picture)
    assert shown in ["".join(element.itertext()) for element in root.iter(f"{SVG}text")]
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {"svg", "rect", "circle", "text", "tspan"}
    assert "href" not in [attribute for element in root.iter() for attribute in element.attrib]
    (inner, *_) = root.iter(f"{SVG}svg")
    assert all(float(element.get("font-size", "1")) >= 8 for element in inner.iter(f"{SVG}text"))


def test_text_is_escaped_also_within_quotes() -> None:
    assert escaped('<a b="c">&\x00\ud800\'') == "&lt;a b=&quot;c&quot;&gt;&amp;\ufffd\ufffd'"


def test_race_in_progress_is_shared_as_spectators_see_it() -> None:
    race = SharedRace.of(opened("corners").race, 0)
    assert (race.stage, race.standings, race.results, race.names) == ("open", (), (), {})
    assert "0 of 8 seats taken" in text(race, LINK)


def test_the_card_of_an_open_race_names_its_host() -> None:
    race = SharedRace.of(opened("corners").race, 0, "Ada")
    assert "Ada challenges you to Corners" in words(race)
    assert card.description(race).startswith("Same Deal: Ada challenges you to Corners. ")
    assert shared(ADA, host="Ada").invitation is None
    assert SharedRace.of(opened("corners").race, 0).invitation is None


def test_results_are_in_the_words_of_the_page() -> None:
    said = library_wording()
    assert said == {kind: WORDING[kind] for kind in said}

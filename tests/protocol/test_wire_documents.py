"""Documents of the HTTP API describe games and races."""

from pathlib import Path

from samedeal import codec
from samedeal.cards import BACK
from samedeal.game import Game
from samedeal.games.catalogue import GAMES
from samedeal.wire.documents import GameDescription, Listed
from support.aces_up import AcesUp
from support.race_steps import every_game
from support.races_by_hand import closed, counting, joined, opened, running


@every_game
def test_a_game_is_described_by_its_own_attributes(slug: str) -> None:
    game: type[Game] = GAMES[slug]
    described = GameDescription.of(game)
    assert (described.slug, described.title, described.rules) == (slug, game.title, game.rules)
    assert (described.layout, described.goal, described.limit_ms) == (game.layout, game.goal, game.limit_ms)
    assert (described.labels, described.options) == (game.labels, game.options)
    for name in ("fanned", "foundations"):
        assert getattr(described, name) == sorted(getattr(game, name))
    assert (described.stock, [*described.hidden]) == (game.stock, [game.stock] * bool(game.stock))
    assert described.pitch == game.pitch != ""
    assert described.how == game.how


@every_game
def test_the_rules_in_three_lines_are_short(slug: str) -> None:
    lines = GAMES[slug].how
    assert len(lines) == 3
    for line in lines:
        assert len(line) <= 50
        assert line.endswith(".")


@every_game
def test_the_example_is_a_table_in_play_that_shows_no_hidden_card(slug: str) -> None:
    game: type[Game] = GAMES[slug]
    example = GameDescription.of(game).example
    assert sum(map(len, example.values())) == sum(map(len, game.from_seed("same deal").view().values()))
    assert example != game.from_seed("same deal").view()
    assert {*example.get(game.stock, ())} <= {BACK}
    assert example == GameDescription.of(game).example


def test_a_game_without_a_lesson_has_no_film() -> None:
    assert GameDescription.of(AcesUp).film == ()


def test_the_readme_describes_the_games_as_they_do() -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    for game in GAMES.values():
        assert f"| {game.title} | {game.pitch[0].lower()}{game.pitch[1:].removesuffix('.')} |" in readme


@every_game
def test_the_description_of_a_game_survives_encoding(slug: str) -> None:
    data = codec.encode(GameDescription.of(GAMES[slug]), "json")
    assert codec.encode(codec.decode(data, "json", GameDescription), "json") == data


def test_a_race_is_listed_with_its_seats_and_options() -> None:
    log = opened("gallery", max_racers=3)
    header = log.race.header
    expected = {"race": "calm-otter-42", "game": "gallery", "max_racers": 3, "opened_at": header.opened_at}
    for racers in (0, 1, 2):
        listed = Listed.of(log.race)
        assert {name: getattr(listed, name) for name in expected} == expected
        assert listed.racers == racers
        log.say(joined(log, racers + 1))


def test_a_race_is_listed_with_its_stage() -> None:
    logs = (opened(), counting(), running(), closed(running()))
    assert [Listed.of(log.race).stage for log in logs] == ["open", "countdown", "running", "over"]


def test_a_list_tells_sealed_open_and_daily_deals_apart() -> None:
    listed = [Listed.of(log.race) for log in (opened(), opened(seed="42"), opened(daily=True))]
    assert [(race.sealed, race.daily) for race in listed] == [(True, False), (False, False), (False, True)]

"""The field of a challenge: who counts, places, points and ties."""

from collections.abc import Sequence
from itertools import permutations
from random import Random

import pytest

from samedeal.race.standings import Standing
from samedeal.scores import field as fields
from samedeal.scores.evening import matchpoints
from samedeal.scores.field import Field, FieldRace
from support.challenges import LoggedChallenge, raced

GOAL = 48


def standing(name: str = "ada", home: int = 10, ms: int = 1_000, outcome: str = "timeout", seat: int = 1) -> Standing:
    return Standing(
        place=1,
        seat=seat,
        name=name,
        bot=name == "bot",
        outcome=outcome,
        done=True,
        home=home,
        goal=GOAL,
        progress=0.0,
        attempts=1,
        ms=ms,
    )


def race(race_id: str, at: int, racers: dict[str, Standing], number: int = 1, *, unlisted: bool = False) -> FieldRace:
    return FieldRace(race_id, unlisted, f"corners:{number}", at, tuple(racers.items()), number)


def added(deals: int, *races: FieldRace) -> Field:
    field = Field(deals)
    for each in races:
        field.add(each)
    return field


def places(field: Field) -> list[tuple[int, str, float]]:
    return [(row.place, row.player, row.points) for row in field.table()]


def test_an_empty_field_has_no_table() -> None:
    field = Field(2)
    assert (field.table(), field.names, field.played, field.codes, len(field)) == ((), (), (0, 0), [None, None], 0)
    assert (field.of("ada"), field.ranked(2)) == (None, [])


def test_winners_come_first_by_time_and_then_the_others_by_cards_home() -> None:
    results = {
        "late": standing(ms=9, outcome="won", home=1),
        "soon": standing(ms=8, outcome="won", home=GOAL),
        "most": standing(home=40, ms=5),
        "slow": standing(home=40, ms=6),
        "least": standing(home=3),
    }
    field = added(1, *(race(name, at, {name: each}) for at, (name, each) in enumerate(results.items())))
    order, points = ["soon", "late", "most", "slow", "least"], (1.0, 0.75, 0.5, 0.25, 0.0)
    assert places(field) == list(zip(range(1, 6), order, points, strict=True))
    assert [row.solved for row in field.table()] == [1, 1, 0, 0, 0]
    assert [each.race.race for each in field.ranked()] == order
    assert (field.table(1, 2), field.table(4)) == (field.table()[1:3], field.table()[4:])


def test_ties_share_a_place_in_the_order_of_the_deals() -> None:
    field = added(
        1, race("b", 5, {"bo": standing()}), race("a", 5, {"ada": standing()}), race("c", 1, {"cy": standing()})
    )
    assert places(field) == [(1, "cy", 0.5), (1, "ada", 0.5), (1, "bo", 0.5)]


def test_only_the_first_race_on_a_deal_counts() -> None:
    early, late = race("b", 1, {"ada": standing(home=1)}), race("a", 2, {"ada": standing(home=9)})
    for order in ((early, late), (late, early)):
        row = added(1, *order).of("ada")
        assert row
        assert [each and (each.race, each.home) for each in row.deals] == [("b", 1)]
    same = race("a", 1, {"ada": standing(home=9)})
    for order in ((early, same), (same, early)):
        assert [each.race.race for each in added(1, *order).ranked()] == ["a"]


def test_the_points_of_all_deals_are_added_up_exactly() -> None:
    """One third and two thirds are one, and who solved more and was faster breaks ties."""
    names = ("ada", "bo", "cy", "dee")
    homes = ((4, 3, 2, 1), (1, 2, 3, 4))
    races = [
        race(f"{name}-{number}", at, {name: standing(home=homes[number - 1][at], ms=at + 1)}, number)
        for number in (1, 2)
        for at, name in enumerate(names)
    ]
    for order in list(permutations(races))[::5_000]:
        field = added(2, *order)
        assert places(field) == [(1, "ada", 1.0), (2, "bo", 1.0), (3, "cy", 1.0), (4, "dee", 1.0)]
        assert [row.ms for row in field.table()] == [2, 4, 6, 8]
    assert [each and each.points for each in field.table()[0].deals] == [1.0, 0.0]
    solved = race("x", 9, {"eve": standing(outcome="won")}, 2)
    assert places(added(2, races[0], solved)) == [(1, "eve", 0.0), (2, "ada", 0.0)]


def test_a_player_who_left_out_a_deal_gets_no_points_for_it() -> None:
    field = added(2, race("a", 1, {"ada": standing()}), race("b", 2, {"bo": standing(home=1)}), race("c", 3, {}, 2))
    assert [row.deals[1] for row in field.table()] == [None, None]
    assert (field.played, field.codes) == ((2, 0), ["corners:1", "corners:2"])
    alone = added(1, race("a", 1, {"ada": standing(outcome="won")})).of("ada")
    assert alone
    assert (alone.points, alone.solved, alone.deals[0] and alone.deals[0].points) == (0.0, 1, 0.0)


def test_rows_have_the_newest_name_of_a_player() -> None:
    old, new = race("a", 1, {"p": standing("Ada")}), race("b", 2, {"p": standing("bot")}, 2)
    for order in ((old, new), (new, old)):
        assert [(row.name, row.bot) for row in added(2, *order).table()] == [("bot", True)]
    older = race("c", 0, {"p": standing("Bo")}, 2)
    assert added(2, old, older).names == ("Ada",)


def test_names_are_sorted_and_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fields, "MAX_NAMES", 2)
    names = ("cy", "ada", "bo")
    assert added(1, race("a", 1, {name: standing(name) for name in names})).names == ("ada", "bo")


def test_a_race_that_is_added_during_the_ranking_counts_in_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    field, compute = added(1, race("a", 1, {"ada": standing()})), matchpoints

    def adding(places: Sequence[int]) -> tuple[int, ...]:
        if len(field.ranked()) == 1:
            field.add(race("b", 2, {"bo": standing(home=20)}))
        return compute(places)

    monkeypatch.setattr(fields, "matchpoints", adding)
    assert field.places() == ({"ada": 1},)
    assert field.places() == ({"bo": 1, "ada": 2},)


def test_results_of_erased_players_are_left_out_with_the_link() -> None:
    both = race("a", 1, {"ada": standing(), "bo": standing()})
    assert both.without(()) == both
    without = both.without(("ada",))
    assert ([player for player, _ in without.racers], without.unlisted) == (["bo"], True)
    assert (added(1, both).unlinked, added(1, without).unlinked) == (set(), {"a"})


def test_a_race_and_its_replay_give_the_same_result() -> None:
    logged = LoggedChallenge.open()
    log = raced(logged.heat(), [1, 2, 3], Random(2))
    found, read = FieldRace.of(log.race), FieldRace.of_log(log.replay())
    assert (found.race, found.started_at, found.racers, found.number) == (
        read.race,
        read.started_at,
        read.racers,
        read.number,
    )
    assert (found.deal, read.deal) == (log.race.deal, "")
    cancelled = raced(logged.heat(), [], Random(1))
    assert FieldRace.of(cancelled.race).racers == FieldRace.of_log(cancelled.replay()).racers == ()

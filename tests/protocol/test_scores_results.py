"""The results of races: who counts as a racer, who wins, and the order of races that follow each other."""

from itertools import permutations

import pytest
from msgspec.structs import replace

from samedeal.computer.first_bots import FIRST_BOTS
from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.race.events import Counting, Dealt, Joined, Left, Nonce, Readied
from samedeal.race.race import MAX_SEATS
from samedeal.scores.results import RaceResult, faults_in_order, in_order
from support.bot_races import bot_races
from support.finished_races import OPENED_AT, finished, nonce
from support.race_results import race
from support.races_by_hand import closed, counting, joined, opened


@pytest.mark.parametrize("slug", GAMES)
def test_a_result_has_the_header_the_standings_and_the_public_ids(slug: str) -> None:
    replay = finished(slug, daily=True)
    result = RaceResult.of_log(replay)
    assert (result.race, result.game, result.daily, result.unlisted) == ("calm-otter-42", slug, True, False)
    assert (result.opened_at, result.ended_at) == (OPENED_AT, replay.entries[-1].at)
    assert result.follows is None
    shown = [(racer.player, racer.name, racer.bot, racer.place, racer.home, racer.ms) for racer in result.racers]
    assert shown == [
        (f"player-{each.seat}", each.name, each.bot, each.place, each.home, each.ms) for each in replay.standings
    ]


def test_scratched_seats_and_cancelled_races_have_no_racers() -> None:
    log = counting(3)
    log.say(Nonce(seat=2, nonce=nonce(2).hex()))
    log.say(Dealt(), 5_000)
    result = RaceResult.of_log(closed(log).replay())
    assert [racer.player for racer in result.racers] == ["player-2"]
    assert result.winner is None
    waiting = opened()
    waiting.say(joined(waiting, 1), 10)
    waiting.say(joined(waiting, 2), 10)
    waiting.say(Readied(seat=2), waiting.race.expires_at - waiting.race.at)
    assert RaceResult.of_log(closed(waiting).replay()).racers == ()


def test_the_last_player_of_an_abandoned_seat_counts() -> None:
    log = opened(seed="1")
    for seat in range(1, MAX_SEATS + 1):
        log.say(joined(log, seat), 1)
        log.say(Left(seat=seat))
    log.say(Joined(seat=1, player="newcomer", name="Newcomer"))
    log.say(joined(log, 2))
    for seat in (1, 2):
        log.say(Readied(seat=seat))
    log.say(Counting())
    log.say(Dealt(), 5_000)
    players = {racer.player for racer in RaceResult.of_log(closed(log).replay()).racers}
    assert players == {"newcomer", "player-2"}


def test_standings_with_an_unknown_seat_are_refused() -> None:
    replay = finished("corners")
    forged = replace(replay, standings=(replace(replay.standings[0], seat=9),))
    with pytest.raises(Refused, match="Nobody took seat 9") as refused:
        RaceResult.of_log(forged)
    assert refused.value.code == "bad-replay"


def test_the_winner_is_ahead_of_all_others() -> None:
    assert race("a", {"ada": 1, "bo": 2}).winner == race("a", {"ada": 1}).racers[0]
    assert race("a", {"ada": 1, "bo": 1, "cy": 3}).winner is None
    assert race("a", {"ada": 1}).winner is None
    assert race("a", {}).winner is None


def test_races_are_ordered_by_time_and_id() -> None:
    races = [race("b", {}, day=1), race("c", {}, day=1), race("a", {}, day=2)]
    for shuffled in permutations(races):
        assert in_order(shuffled) == races


def test_a_race_comes_after_the_one_it_follows() -> None:
    chain = [race("d", {}), race("c", {}, follows="d"), race("b", {}, follows="c"), race("a", {}, follows="gone")]
    for shuffled in permutations(chain):
        assert [each.race for each in in_order(shuffled)] == ["a", "d", "c", "b"]
        assert faults_in_order(in_order(shuffled)) == ["a follows gone, which is missing"]


def test_races_that_follow_each_other_are_ordered_once() -> None:
    circle = [race("a", {}, follows="b"), race("b", {}, follows="a"), race("c", {}, follows="c")]
    for shuffled in permutations(circle):
        assert [each.race for each in in_order(shuffled)] == ["b", "a", "c"]
        assert faults_in_order(in_order(shuffled)) == [
            "b follows a, which comes later",
            "c follows c, which comes later",
        ]


def test_only_one_race_can_follow_another() -> None:
    chain = [race("a", {}), *(race(each, {}, follows="a") for each in "bcd"), race("e", {}, follows="d")]
    assert faults_in_order(chain) == ["b, c and d all follow a"]
    assert faults_in_order(chain[1:3]) == [
        "b follows a, which is missing",
        "c follows a, which is missing",
        "b and c both follow a",
    ]
    assert faults_in_order([chain[0], *chain[3:]]) == []


def test_results_of_bots_contain_all_kinds_of_races() -> None:
    results = [RaceResult.of_log(replay) for replay in bot_races(100)]
    assert {len(result.racers) for result in results} == {0, 1, 2, 3, 4, 5}
    assert {result.game for result in results} == set(FIRST_BOTS)
    assert {result.daily for result in results} == {False, True}
    places = [[racer.place for racer in result.racers] for result in results]
    assert any(len(set(each)) < len(each) for each in places)

"""Timelines: steps reproduce the tables of the fold without redundancy."""

import pytest

from samedeal import codec
from samedeal.games.catalogue import GAMES
from samedeal.race.events import Closed, Moved, Resigned
from samedeal.race.race import OPEN_MS
from samedeal.race.synthetic_race import TICK_MS
from samedeal.replays.bot_replay import replay_of_line
from samedeal.replays.timeline import steps
from support.finished_races import finished, opened

every_game = pytest.mark.parametrize("slug", GAMES)


@every_game
def test_steps_reproduce_the_tables_of_the_fold(slug: str) -> None:
    replay = finished(slug, moves=120)
    timeline = steps(replay)
    races = list(replay.races())
    walked = 0
    for racer in timeline.racers:
        table = dict(timeline.table)
        own = iter(racer.steps)
        for entry, race in zip(replay.entries, races[1:], strict=True):
            if isinstance(entry.event, Moved | Resigned) and entry.event.seat == racer.seat:
                step, run = next(own), race.seat(racer.seat).run
                assert run
                assert all(table[place] != pile for place, pile in step.changed.items())
                table |= step.changed
                assert table == run.game.view()
                assert (step.n, step.home, step.attempt) == (entry.n, run.game.home, run.attempts)
                assert step.outcome == run.outcome
                assert step.ms == entry.at - (race.started_at or 0)
                walked += 1
        assert next(own, None) is None
    assert walked == sum(isinstance(entry.event, Moved | Resigned) for entry in replay.entries)


def test_a_cancelled_race_has_no_tables() -> None:
    log = opened("corners")
    log.say(Closed(secret=log.race.secret.hex()), OPEN_MS)
    timeline = steps(log.replay())
    assert (timeline.deal, timeline.racers, timeline.table) == (None, (), {})


def test_racers_are_in_the_order_of_the_standings() -> None:
    timeline = steps(finished("corners"))
    assert [racer.seat for racer in timeline.racers] == [one.seat for one in timeline.standings]
    assert codec.decode(codec.encode(timeline, "json"), "json", type(timeline)) == timeline


def test_a_play_of_the_solver_lasts_from_time_zero_to_its_end() -> None:
    game = GAMES["corners"].from_seed("7")
    move = game.moves()[0]
    timeline = steps(replay_of_line(type(game), "7", [move], bytes(32), {"refill": "waste"}))
    assert [(step.move, step.ms) for step in timeline.racers[0].steps] == [(move, TICK_MS), ("resign", 2 * TICK_MS)]
    assert (timeline.ms, timeline.variant) == (2 * TICK_MS, {"refill": "waste"})

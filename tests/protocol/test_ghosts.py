"""Ghosts: at every moment they show what their racers showed as live rivals, and nothing of what follows."""

from math import inf

import pytest

from samedeal.games.catalogue import GAMES
from samedeal.race.events import Closed
from samedeal.race.ghosts import Ghost, Track, ghosts_at, next_change_at, tracks
from samedeal.race.race import OPEN_MS, Race
from samedeal.race.standings import Standing
from samedeal.replays.replay import Replay
from samedeal.values import replace
from support.finished_races import finished, opened


def shown(each: Standing | Ghost) -> tuple[object, ...]:
    return each.name, each.bot, each.outcome, each.done, each.home, each.goal, each.progress, each.ms


def tracks_of(replay: Replay) -> tuple[Track, ...]:
    return tracks(Race.opened(replay.header, replay.secret), replay.entries)


def running(replay: Replay) -> Race:
    """Return the race just after the deal."""
    return next(race for race in replay.races() if race.stage == "running")


@pytest.mark.parametrize("slug", GAMES)
def test_ghosts_show_what_live_rivals_showed_at_every_moment(slug: str) -> None:
    replay = finished(slug, moves=120)
    later, compared = running(replay), 0
    started_at = later.started_at or 0
    races = list(replay.races())
    ghosts_of = tracks_of(replay)
    for race, following in zip(races, [*races[1:], None], strict=True):
        if race.started_at is None or (following and following.at == race.at):
            continue
        for now in {race.at, following.at - 1 if following else race.at + 1}:
            seen = sorted(map(shown, ghosts_at(ghosts_of, later, now)))
            assert seen == sorted(shown(standing) for standing in race.standings())
            compared += 1
    assert compared > 20
    assert started_at > replay.header.opened_at
    order = [ghost.ghost for ghost in ghosts_at(ghosts_of, races[-1], started_at)]
    assert [ghosts_of[number - 1].ghosts[0].name for number in order] == [
        standing.name for standing in replay.standings
    ]


def test_ghosts_depend_only_on_the_entries_so_far() -> None:
    """A log that is cut off after some entry leads to the same ghosts until then."""
    replay = finished("corners", moves=60)
    later = running(replay)
    first = Race.opened(replay.header, replay.secret)
    whole = tracks_of(replay)
    for n in range(later.n, len(replay.entries) - 1):
        entry, following = replay.entries[n - 1 : n + 1]
        if entry.at < following.at:
            cut = tracks(first, replay.entries[:n])
            assert ghosts_at(cut, later, following.at - 1) == ghosts_at(whole, later, following.at - 1)


def test_ghosts_are_ready_before_the_deal_and_final_after_the_race() -> None:
    replay = finished("corners", moves=60)
    race, *_, over = replay.races()
    before = ghosts_at(tracks_of(replay), race, race.at + 10**6)
    assert {(ghost.outcome, ghost.done, ghost.home, ghost.progress, ghost.ms) for ghost in before} == {
        ("ready", False, 0, 0.0, 0)
    }
    assert [ghost.ghost for ghost in before] == list(range(1, len(over.roster) + 1))
    after = ghosts_at(tracks_of(replay), over, 0)
    assert sorted(map(shown, after)) == sorted(map(shown, over.standings()))


def test_each_change_is_announced_once() -> None:
    replay = finished("corners", moves=60)
    later, all_tracks = running(replay), tracks_of(replay)
    now, times = later.started_at or 0, list[int]()
    while (at := next_change_at(all_tracks, later, now)) is not None:
        assert at > now
        assert ghosts_at(all_tracks, later, at) != ghosts_at(all_tracks, later, at - 1)
        times.append(at)
        now = at
    assert ghosts_at(all_tracks, later, now) == ghosts_at(all_tracks, replace(later, closed=True), 0)
    assert len(times) >= 10
    assert next_change_at(all_tracks, next(replay.races()), 0) is None


def test_cancelled_race_has_no_tracks() -> None:
    log = opened("corners")
    log.say(Closed(secret=log.race.secret.hex()), OPEN_MS)
    assert tracks_of(log.replay()) == ()


def test_track_of_a_result_shows_it_from_its_time_on() -> None:
    standing = finished("corners", moves=60).standings[0]
    track = Track.of_result(standing)
    assert (track.at(standing.ms - 1, 7).home, track.at(standing.ms - 1, 7).outcome) == (0, "playing")
    assert track.at(standing.ms, 7).ghost == 7
    assert shown(track.at(standing.ms, 7)) == shown(track.at(inf, 7)) == shown(standing)

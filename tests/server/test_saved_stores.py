"""Stores written by earlier commits: the current server reads them, and their races continue.

The server's clock is set to the time when the store was saved, or later.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from samedeal.proof.signature import public_key
from samedeal.proof.verification import verify
from samedeal.race.events import LONGEST_MS, Dealt, Joined
from samedeal.replays.replay import Replay, ReplayLines, read
from samedeal.wire import codec
from samedeal.wire import messages as m
from support.logged_server import request
from support.saved_store import DATE, FORMS, NUMBERS, Saved, replay_file, replayed_races, saved
from support.servers import SIGNING_KEY, Racer
from support.stores import until
from support.timed_server import HOUR_MS, TimedServer

pytestmark = pytest.mark.tier(2)

KEY = public_key(bytes.fromhex(SIGNING_KEY))


@pytest.fixture(params=NUMBERS)
def number(request: pytest.FixtureRequest) -> int:
    """The format of the saved store."""
    number: int = request.param
    return number


@pytest.fixture
def store(number: int) -> Saved:
    return saved(number)


@pytest.fixture
def server(store: Saved, redis_url: str, tmp_path: Path) -> Iterator[TimedServer]:
    """The current server on the saved store, at the time when it was saved."""
    store.load(redis_url)
    server = TimedServer(redis_url, tmp_path, emptied=False, connections_per_address="0", away_seconds="3600")
    server.set_clock(store.at)
    with server.start():
        yield server
        assert server.failures() == []


def finished(store: Saved, number: int, *, daily: bool) -> dict[str, Replay]:
    """Return the replays of the finished races in the store, on daily deals or not, by what is special about them."""
    replays = {name: read(replay_file(number, name, "json").read_bytes()) for name in replayed_races(number)}
    return {name: each for name, each in replays.items() if name in store.races and each.header.daily == daily}


def get(server: TimedServer, path: str) -> bytes:
    answer = request(server, "GET", f"/api/v1/{path}")
    assert answer.status == 200, answer.body
    return answer.body


def assert_contains(actual: Any, expected: Any) -> None:
    """Assert that `actual` has every expected field with its value. It can have others."""
    if isinstance(expected, dict):
        for name, value in expected.items():
            assert name in actual
            assert_contains(actual[name], value)
    elif isinstance(expected, list):
        assert len(actual) == len(expected)
        for one, other in zip(actual, expected, strict=True):
            assert_contains(one, other)
    else:
        assert actual == expected


async def returned(server: TimedServer, store: Saved, guest: str) -> Racer:
    """A guest of the saved store, connected with the saved token."""
    racer = Racer(guest)
    racer.token = store.tokens[guest]
    await racer.connect(server)
    assert racer.player == store.players.get(guest, racer.player)
    return racer


def assert_continues(replay: Replay, store: Saved, race_id: str) -> None:
    """Assert that the replay is valid and starts with the saved log, byte for byte."""
    assert all(fact.holds for fact in verify(replay, [KEY]))
    saved_log = [words for name, key, words in store.commands if (name, key) == ("XADD", f"race:{{{race_id}}}:log")]
    entries = [codec.encode([entry.n, entry.at, entry.event], "json") for entry in replay.entries]
    assert saved_log
    assert entries[: len(saved_log)] == [words[2] for words in saved_log]


def test_lists_and_results_are_unchanged(server: TimedServer, store: Saved) -> None:
    live = {f"races/{store.races[name]}" for name in ("running", "open", "next") if name in store.races}
    for path, expected in store.answers.items():
        if path not in live:
            assert_contains(json.loads(get(server, path)), expected)


async def test_unlisted_races_count_for_those_who_raced_in_them(server: TimedServer, store: Saved, number: int) -> None:
    """They are found in stores without their index, also in those that have replays in older formats."""
    path, race_id = f"/api/v1/players/{store.players['bo']}", store.races["unlisted"]

    def races(**headers: str) -> set[str]:
        while (answer := request(server, "GET", path, None, **headers)).status == 503:
            pass  # the store is busy
        assert answer.status == 200
        assert answer.json["scores"]["races"] == len(answer.json["races"])
        return {race["race"] for race in answer.json["races"]}

    token = {"Authorization": f"Bearer {store.tokens['bo']}"}
    await until(lambda: race_id in races(**token))
    replays = finished(store, number, daily=False) | finished(store, number, daily=True)
    joined = {
        store.races[name]
        for name, replay in replays.items()
        for entry in replay.entries
        if isinstance(entry.event, Joined) and entry.event.player == store.players["bo"]
    }
    assert races(**token) == joined
    assert races() == joined - {race_id}


def test_the_signing_key_has_the_time_of_its_first_use(server: TimedServer, store: Saved) -> None:
    ((_, _, (key, since)),) = (command for command in store.commands if command[1] == "replays:keys")
    assert key.decode() == KEY
    (known,) = request(server, "GET", "/.well-known/samedeal").json["keys"]
    assert_contains(known, {"key": KEY, "since": int(since)})


def test_replays_are_unchanged_byte_for_byte(server: TimedServer, store: Saved, number: int) -> None:
    for name in finished(store, number, daily=False):
        for form in FORMS:
            assert get(server, f"replays/{store.races[name]}.{form}") == replay_file(number, name, form).read_bytes()


def test_replays_of_daily_races_stay_sealed_until_their_time(server: TimedServer, store: Saved, number: int) -> None:
    names = finished(store, number, daily=True)
    assert names
    paths = [(name, form, f"replays/{store.races[name]}.{form}") for name in names for form in FORMS]
    for _, _, path in paths:
        answer = request(server, "GET", f"/api/v1/{path}")
        assert (answer.status, answer.json["code"]) == (403, "replay-sealed")
    server.set_clock(store.answers[f"daily/{DATE}/corner-stones"]["reveals_at"])
    for name, form, path in paths:
        assert get(server, path) == replay_file(number, name, form).read_bytes()
    assert json.loads(get(server, f"daily/{DATE}/corner-stones"))["stage"] == "revealed"


async def test_a_running_race_continues(server: TimedServer, store: Saved) -> None:
    race_id = store.races["running"]
    state = json.loads(get(server, f"races/{race_id}"))
    before = store.answers[f"races/{race_id}"]
    for fields in (state, before):
        del fields["clock_ms"]
    assert_contains(state, before)
    assert state["h"] == store.digests["running"]
    for guest in ("ada", "bo"):
        racer = await returned(server, store, guest)
        await racer.join(race_id)
        assert racer.board.ply == 3
        assert isinstance(await racer.move((racer.board.moves or [])[0]), m.View)
        assert racer.board.ply == 4
        assert isinstance(await racer.ask(m.Resign), m.View)
        await racer.close()
    assert_continues(await server.replay(race_id), store, race_id)


async def test_an_open_race_can_be_joined(server: TimedServer, store: Saved) -> None:
    race_id = store.races["open"]
    bo, cy = await returned(server, store, "bo"), await Racer("cy").connect(server)
    (waiting,) = store.answers[f"races/{race_id}"]["standings"]
    for racer, seat in ((bo, waiting["seat"]), (cy, waiting["seat"] + 1)):
        await racer.join(race_id)
        assert racer.view
        assert racer.view.seat == seat
        await racer.ask(m.Ready)
    server.set_clock(store.at + HOUR_MS)
    for racer in (bo, cy):
        await racer.until(lambda view: view.stage == "running")
        assert isinstance(await racer.ask(m.Resign), m.View)
        await racer.close()
    assert_continues(await server.replay(race_id), store, race_id)


async def test_abandoned_races_are_closed_on_time(server: TimedServer, store: Saved) -> None:
    server.set_clock(store.at + LONGEST_MS)
    running = await server.replay(store.races["running"])
    assert_continues(running, store, store.races["running"])
    assert [standing.outcome for standing in running.standings] == ["timeout", "timeout"]
    assert [seat.ms for seat in running.standings] == [
        seat["ms"] for seat in store.answers[f"races/{store.races['running']}"]["standings"]
    ]
    server.set_clock(store.at + 24 * HOUR_MS)
    cancelled = await server.replay(store.races["open"])
    assert_continues(cancelled, store, store.races["open"])
    assert not any(isinstance(entry.event, Dealt) for entry in cancelled.entries)
    await until(lambda: json.loads(get(server, "races"))["races"] == [])


@pytest.mark.parametrize("number", [2], indirect=True)
async def test_a_rematch_that_waits_is_found(server: TimedServer, store: Saved) -> None:
    again = json.dumps({"again": store.races["match"], "game": "gallery"}).encode()
    answer = request(server, "POST", "/api/v1/races", again, Authorization=f"Bearer {store.tokens['bo']}")
    assert (answer.status, answer.json["race"]) == (200, store.races["next"])
    assert answer.json["header"]["follows"] == store.races["decider"]


@pytest.mark.parametrize("number", [2], indirect=True)
async def test_the_host_starts_a_race_without_those_who_were_removed(server: TimedServer, store: Saved) -> None:
    ada, bo, cy = [await returned(server, store, guest) for guest in ("ada", "bo", "cy")]
    refused = await cy.join(store.races["open"])
    assert isinstance(refused, m.Problem)
    assert refused.code == "not-allowed"
    for racer in (bo, ada):
        await racer.join(store.races["open"])
    await bo.ask(m.Ready)
    assert isinstance(await ada.ask(m.Start), m.View)
    server.set_clock(store.at + HOUR_MS)
    for racer in (ada, bo):
        await racer.until(lambda view: view.stage == "running")
        assert isinstance(await racer.ask(m.Resign), m.View)
    assert_continues(await server.replay(store.races["open"]), store, store.races["open"])
    for racer in (ada, bo, cy):
        await racer.close()


@pytest.mark.parametrize("number", [2], indirect=True)
def test_guests_log_in_with_saved_codes_and_stay_logged_out(server: TimedServer, store: Saved) -> None:
    code = json.dumps({"code": store.login_code}).encode()
    answer = request(server, "POST", "/api/v1/guests/login", code)
    assert (answer.status, answer.json["player"]) == (200, store.players["ada"])
    again = json.dumps({"again": store.races["match"]}).encode()
    answer = request(server, "POST", "/api/v1/races", again, Authorization=f"Bearer {store.tokens['di']}")
    assert (answer.status, answer.json["code"]) == (401, "bad-token")


def test_saved_replays_round_trip_byte_for_byte_and_verify(number: int) -> None:
    names = replayed_races(number)
    assert names
    for name in names:
        replay = read(replay_file(number, name, "json").read_bytes())
        assert all(fact.holds for fact in verify(replay, [KEY]))
        assert read(replay_file(number, name, "msgpack").read_bytes()) == replay
        assert codec.encode(replay, "json") == replay_file(number, name, "json").read_bytes()
        assert codec.encode(replay, "msgpack") == replay_file(number, name, "msgpack").read_bytes()
        assert b"".join(replay.lines()) == replay_file(number, name, "ndjson").read_bytes()
        with replay_file(number, name, "ndjson").open("rb") as file:
            lines = ReplayLines(file)
            assert (lines.header, tuple(lines.entries)) == (replay.header, replay.entries)
            assert all(fact.holds for fact in verify(lines, [KEY]))

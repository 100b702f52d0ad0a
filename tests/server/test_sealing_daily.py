"""Nobody learns a daily deal after a race on it while others may still play it."""

import asyncio
from collections.abc import Iterator

import pytest

from conftest import kept_store
from samedeal.proof.verification import verify
from samedeal.wire import messages as m
from support.leak_probes import (
    HEADERS,
    SUFFIXES,
    all_requests,
    clean,
    fill_headers,
    stored,
    target_url,
    url_suffixes,
    written,
)
from support.logged_server import Line, request
from support.sealed_race import (
    KEY,
    SealedRace,
    check_packets,
    forms,
    found,
    play,
    reveals_nothing,
    sealed_race,
)
from support.timed_server import TimedServer

pytestmark = pytest.mark.tier(2)


@pytest.fixture(scope="module")
def timed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TimedServer]:
    """A server with its own store and clock."""
    folder = tmp_path_factory.mktemp("timed")
    for url in kept_store(folder / "store"):
        with TimedServer(url, folder, connections_per_address="0", log_level="debug", metrics="on").start() as running:
            running.noon("2027-03-14")
            yield running


async def over(scene: SealedRace) -> None:
    """Ada and bo resign; return when all clients know the end and the results list the race."""
    for name in ("ada", "bo"):
        assert isinstance(await scene.lines[name].ask("resign"), m.View)
    for name, line in scene.lines.items():
        view = await line.ask("watch" if name == "eve" else "join", race=scene.race_id)
        assert isinstance(view, m.View)
        assert view.stage == "over"
    async with asyncio.timeout(50):
        while True:
            daily = request(scene.server, "GET", f"/api/v1/daily/{scene.header.date}/{scene.header.game}").json
            if scene.race_id in [result["race"] for result in daily["results"]]:
                return
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("game", ["corners", "gallery"])
async def test_no_message_reveals_a_daily_deal_after_a_race_on_it(timed: TimedServer, game: str) -> None:
    """Racers and spectators of this race, of another race on the deal, and strangers learn nothing."""
    timed.noon("2027-03-14")
    async with sealed_race(timed, game, daily=True) as race, sealed_race(timed, game, daily=True) as other:
        assert (race.secret, race.seed) == (other.secret, other.seed)
        await play(race, 10)
        await asyncio.sleep(0.3)  # until the last progress is sent
        for name, line in race.lines.items():
            await line.ask("ping")
            check_packets(race, name, line, boards=False)
        await over(race)
        for about in (race, other):
            for fields in all_requests(about):
                for line in race.lines.values():
                    if fields["t"] != "move":
                        await line.ask(**fields)
                for form in ("json", "msgpack"):
                    async with await Line.open(timed, "json" if form == "json" else "msgpack", "mallory") as stranger:
                        await stranger.ask(**fields)
                        assert reveals_nothing(about, "mallory", stranger.packets, stranger.form)
        await play(other, 3)
        for each in (race, other):
            for name, line in each.lines.items():
                assert reveals_nothing(each, name, line.packets, line.form)
        assert found(timed.log.encode(), race.forbidden()) == []
        timed.set_clock(race.header.reveals_at + 60_000)
        view = await race.lines["eve"].ask("watch", race=race.race_id)
    assert isinstance(view, m.View)
    assert view.deal == f"{game}:{race.seed}", "the test searched for the wrong deal"


@pytest.mark.tier(3)  # test_sealing_challenges.py asks for the same URLs in tier 2
async def test_no_url_reveals_a_daily_deal_after_a_race_on_it(timed: TimedServer) -> None:
    timed.noon("2027-03-16")
    async with sealed_race(timed, "corners", daily=True) as race:
        await play(race, 10)
        await over(race)
    targets = [target_url(path, end) for path, ends in url_suffixes(race).items() for end in ends]
    targets += [f"/api/v1/races/{race.race_id}/{more}" for more in ("events", "card.txt?seat=1", "card.txt?seat=3")]
    targets += [f"/api/v1/races/{race.race_id}/par{more}" for more in ("?seat=1", ".svg?seat=3")]
    targets += [f"/api/v1/replays/{race.race_id}{suffix.replace('#', '%23')}" for suffix in SUFFIXES]
    targets += [f"/api/v1/replays?before={race.race_id}", f"/api/v1/daily/2027-03-17/{race.header.game}"]
    guess = race.seed.replace(race.seed.partition(".")[0], "a-wrong-guess")
    for at in (race.header.dealt_by - 600_000, race.header.reveals_at - 600_000):
        timed.set_clock(at)
        for target in (target.replace("{race}", race.race_id) for target in targets):
            for headers in HEADERS:
                filled = fill_headers(headers, race)
                for method in ("GET", "HEAD"):
                    answer = request(timed, method, target, None, **filled)
                    if race.seed in target:
                        wrong = request(timed, method, target.replace(race.seed, guess), None, **filled)
                        assert answer.body.replace(race.seed.encode(), guess.encode()) == wrong.body, target
                    else:
                        assert clean(answer, race), target
                    assert not target.startswith(f"/api/v1/replays/{race.race_id}") or answer.status in (
                        403,
                        404,
                        406,
                        307,
                    )
        listed = request(timed, "GET", "/api/v1/replays").json["replays"]
        assert [replay["deal"] for replay in listed if replay["race"] == race.race_id] == [None]
        sealed = request(timed, "GET", f"/api/v1/replays/{race.race_id}.json", None, If_None_Match="*")
        assert (sealed.status, sealed.json["code"]) == (403, "replay-sealed")
    timed.set_clock(race.header.reveals_at + 60_000)
    revealed = [request(timed, "GET", target.replace("{race}", race.race_id)) for target in targets]
    revealing = [answer for answer in revealed if found(answer.body, race.forbidden())]
    assert len(revealing) > 5, "the search would find nothing"
    assert all(fact.holds for fact in verify(await timed.replay(race.race_id)))


async def test_store_holds_no_daily_secret_before_a_race_on_it_ends(timed: TimedServer) -> None:
    timed.noon("2027-03-18")
    url = timed.store_url
    async with sealed_race(timed, "gallery", daily=True) as race:
        await play(race, 3)
        secrets = [form for raw in (race.secret, KEY) for form in forms(raw)] + [race.seed.encode()]
        for place in (stored, written):
            assert found(place(url), secrets) == []
        await over(race)
        assert race.secret.hex().encode() in stored(url), "the search would find nothing"
        assert found(stored(url), [*forms(KEY)]) == []

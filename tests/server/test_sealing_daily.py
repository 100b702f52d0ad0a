"""Nobody learns a daily deal after a race on it while others may still play it."""

import asyncio

import pytest

from samedeal.proof.verification import verify
from samedeal.wire import messages as m
from support.leak_probes import HEADERS, all_targets, ask_everything, check_replay_is_sealed, stored, told, written
from support.logged_server import request
from support.sealed_race import KEY, SealedRace, check_packets, forms, found, play, reveals_nothing, sealed_race
from support.timed_server import TimedServer
from support.waiting import LIMIT_S

pytestmark = pytest.mark.tier(2)


async def over(scene: SealedRace) -> None:
    """Ada and bo resign; return when all clients know the end and the results list the race."""
    for name in ("ada", "bo"):
        assert isinstance(await scene.lines[name].ask("resign"), m.View)
    for name, line in scene.lines.items():
        view = await line.ask("watch" if name == "eve" else "join", race=scene.race_id)
        assert isinstance(view, m.View)
        assert view.stage == "over"
    async with asyncio.timeout(LIMIT_S):
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
            await ask_everything(about, race.lines.values())
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
    targets = all_targets(race) + [f"/api/v1/races/{race.race_id}/{more}" for more in ("events", "card.txt?seat=1")]
    targets += [f"/api/v1/races/{race.race_id}/{more}" for more in ("card.txt?seat=3", "par?seat=1", "par.svg?seat=3")]
    targets += [f"/api/v1/replays?before={race.race_id}", f"/api/v1/daily/2027-03-17/{race.header.game}"]
    for at in (race.header.dealt_by - 600_000, race.header.reveals_at - 600_000):
        timed.set_clock(at)
        for target in targets:
            for headers in HEADERS:
                for method in ("GET", "HEAD"):
                    told(race, target, method, **headers)
        check_replay_is_sealed(race, "GET", "HEAD")
        listed = request(timed, "GET", "/api/v1/replays").json["replays"]
        assert [replay["deal"] for replay in listed if replay["race"] == race.race_id] == [None]
        sealed = request(timed, "GET", f"/api/v1/replays/{race.race_id}.json", None, If_None_Match="*")
        assert (sealed.status, sealed.json["code"]) == (403, "replay-sealed")
    timed.set_clock(race.header.reveals_at + 60_000)
    forms = [f"/api/v1/replays/{race.race_id}{form}" for form in ("", ".json", ".msgpack", ".ndjson")]
    revealed = [request(timed, "GET", target) for target in targets + forms if race.seed not in target]
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

"""Nobody learns a deal of a challenge, or how others did on it, before it is revealed."""

import asyncio
import json
import re
from hashlib import sha256
from itertools import dropwhile, pairwise, permutations

import pytest
from redis import Redis

from samedeal import codec
from samedeal.proof.verification import verify
from samedeal.race.events import RACE_FORMAT
from samedeal.race.race import Race
from samedeal.wire import decoding
from samedeal.wire import messages as m
from support.challenges import read_challenge
from support.contests import Contest, bearer, connected, guest, open_contest, post, race_alone
from support.event_stream import EventStream
from support.leak_probes import all_targets, ask_everything, clean, stored, told
from support.logged_server import Answer, Line, request
from support.sealed_race import SealedRace, check_packets, found, play, reveals_nothing, sealed_race
from support.timed_server import TimedServer
from support.waiting import until, wait_until

pytestmark = pytest.mark.tier(2)


async def over(race: SealedRace, contest: Contest) -> None:
    """Ada and bo resign; return when the heat counts."""
    for name in ("ada", "bo"):
        assert isinstance(await race.lines[name].ask("resign"), m.View)
    await contest.once(race.server, lambda page: {"ada", "bo", "cy"} <= {*page.names})


def news(race: SealedRace, packets: list[bytes], form: codec.Form) -> list[m.View | m.Progress]:
    """Return what somebody without a seat in a heat was sent since the deal without a request, but for the number of
    watchers. Assert that no message says more than whether the heat runs.
    """
    messages = [decoding.decode_from_server(packet, form) for packet in packets]
    about = [each for each in messages if isinstance(each, m.View | m.Progress) and each.race == race.race_id]
    dealt = [*dropwhile(lambda each: getattr(each, "stage", "open") in ("open", "countdown"), about)]
    start = Race.opened(race.header, race.secret).digest
    for each in dealt:
        assert (each.n, each.standings, each.ghosts, each.closing_ms) == (0, (), (), None)
        if isinstance(each, m.View):
            assert (each.h, each.levels, each.seat, each.board, each.boards, each.deal) == (start, {}, *[None] * 4)
    running = [each for each in dealt if getattr(each, "stage", "running") == "running"]
    return [each for before, each in pairwise(running) if each.re is None and each.watching == before.watching]


async def play_and_check(race: SealedRace, *, standings: bool = False) -> None:
    """Ada and bo play, and all connections get what they may see; `standings` if the spectator sees those."""
    await play(race, 10)
    await asyncio.sleep(0.3)  # until the last progress is sent
    for name, line in race.lines.items():
        await line.ask("ping")
        check_packets(race, name, line, boards=False, standings=standings or name != "eve")


async def test_no_message_reveals_a_challenge(timed: TimedServer) -> None:
    """Spectators, racers of another heat on the deal, its creator, who has played everything, and strangers learn
    nothing about a heat, and its racers nothing about the cards of their rivals.
    """
    timed.noon("2027-04-01")
    dan, fay = (guest(timed, name)[0] for name in ("dan", "fay"))
    contest = open_contest(timed, ["corners", "gallery"], dan)
    for deal in (1, 2):
        await race_alone(timed, contest, deal, fay, moves=3)
    async with (
        sealed_race(timed, "corners", contest=contest) as race,
        sealed_race(timed, "corners", contest=contest) as other,
        await Line.open(timed, "json") as creator,
        await Line.open(timed, "msgpack") as finisher,
    ):
        for line, token in ((creator, dan), (finisher, fay)):
            await line.ask("hello", token=token, format=RACE_FORMAT, features=[m.REACTIONS, m.GUIDANCE])
            assert isinstance(await line.ask("watch", race=race.race_id), m.View)
        watching = [race.lines["eve"], creator, finisher]
        with EventStream(timed, race.race_id) as stream:
            await stream.event()
            await play_and_check(race)
            await over(race, contest)
            assert isinstance((await stream.rest())[-1], m.View)
            assert reveals_nothing(race, "mallory", stream.packets, "json")
        for line in watching:
            await line.ask("ping")
            assert news(race, line.packets, line.form) == [], "they hear when somebody moves"
        assert news(race, stream.packets, "json") == []
        await ask_everything(other, [*race.lines.values(), creator, finisher])
        await play_and_check(other)
        for heat in (race, other):
            for name, line in heat.lines.items():
                assert reveals_nothing(heat, name, line.packets, line.form)
            for line in (creator, finisher):
                assert reveals_nothing(heat, "mallory", line.packets, line.form)
            for line in (*watching, *race.lines.values()) if heat is other else watching:
                news(heat, line.packets, line.form)
        seen = await race.lines["ada"].ask("join", race=race.race_id)
        assert isinstance(seen, m.View)
        assert len(seen.standings) == 3, "racers see the standings of their own heat"
        assert found(timed.log.encode(), race.forbidden()) == []
        with Redis.from_url(timed.store_url) as redis:
            assert not [*redis.scan_iter(f"*{race.seed.partition('.')[0]}*")], "something about the deal is cached"
        check_practice(timed, contest.code(1))  # while the other heat runs
        timed.set_clock(race.header.reveals_at + 60_000)
        shown = await race.lines["eve"].ask("watch", race=race.race_id)
    assert isinstance(shown, m.View)
    assert shown.deal == contest.code(1), "the test searched for the wrong deal"
    assert len(shown.standings) == 3


async def test_no_url_reveals_a_challenge(timed: TimedServer) -> None:
    """Neither during a heat nor after it, to racers, its creator, players who have played everything, or strangers."""
    timed.noon("2027-04-03")
    dan, fay, gil, hal = (guest(timed, name) for name in ("dan", "fay", "gil", "hal"))
    contest = open_contest(timed, ["corners", "gallery"], dan[0], unlisted=False)
    alone = await race_alone(timed, contest, 1, gil[0], moves=5)
    idle = await race_alone(timed, contest, 1, hal[0])
    for deal in (1, 2):
        await race_alone(timed, contest, deal, fay[0], moves=3)
    async with sealed_race(timed, "corners", contest=contest) as race:
        people = {**race.players, "dan": dan[1], "fay": fay[1], "gil": gil[1], "hal": hal[1]}
        viewers = {"mallory": None, "ada": race.tokens["ada"], "dan": dan[0], "fay": fay[0], "gil": gil[0]}
        race.players["fay"] = fay[1]
        seats = ("card.txt?seat=1", "card.txt?seat=2", "par?seat=1", "par.svg?seat=1")
        targets = all_targets(race) + [f"/api/v1/races/{race.race_id}/{path}" for path in seats]
        targets += [f"/api/v1/replays?deal={contest.code(1)}", f"/api/v1/replays?before={race.race_id}"]
        await contest.once(timed, lambda page: [*page.played] == [3, 1])
        # The deal of a past day is computed when it is first asked for.
        wait_until(lambda: request(timed, "GET", "/api/v1/daily/2027-03-15/corners").json["deal"])
        results = computed(timed)
        before = answers(race, targets, viewers)
        check_results_are_sealed(timed, contest, [race.race_id, alone], people, viewers)
        await play(race, 10)
        await race.lines["bo"].ask("resign")
        told_later = answers(race, targets, viewers)
        assert [each for each in before if told_later[each] != before[each]] == [], "an answer depends on the moves"
        await over(race, contest)
        targets.append(f"/api/v1/races/{race.race_id}/events")
        told_later = answers(race, targets, viewers)
        of_results = [each for each in before if each[0].startswith(("/api/v1/players/", "/api/v1/replays?"))]
        assert [each for each in of_results if told_later[each] != before[each]] == []
        check_results_are_sealed(timed, contest, [race.race_id, alone], people, viewers)
        about = [each for each in targets if {race.race_id, people["ada"]} & {*re.split("[/?=.]", each)}]
        for target in (each for each in about if not each.startswith("/metrics") and "qr.svg" not in each):
            one = told_without_names(race, target, {race.race_id: alone, people["ada"]: gil[1], "ada": "gil"})
            assert one == told_without_names(race, target, {race.race_id: idle, people["ada"]: hal[1], "ada": "hal"})
        assert computed(timed) == results, "something sealed was computed"
        check_practice(timed, contest.code(1))
        assert contest.secret.hex().encode() in stored(timed.store_url), "a heat is over"
        await check_that_a_heat_stays_plain(timed, contest, race, {**race.tokens, "dan": dan[0]})
    timed.set_clock(contest.header.reveals_at + 60_000)
    page = await contest.revealed(timed)
    assert page.secret == contest.secret.hex()
    assert page.codes == [contest.code(1), contest.code(2)]
    assert [*page.names] == sorted(row.name for row in page.results or ()) == ["ada", "bo", "cy", "fay", "gil", "hal"]
    log = request(timed, "GET", f"/api/v1/challenges/{contest.id}/log")
    assert read_challenge(log.body).verified().revealed
    opened = [target for target in targets if race.seed not in target]
    revealing = [target for target in opened if found(request(timed, "GET", target).body, race.forbidden())]
    assert len(revealing) > 5, "the search would find nothing"
    for heat in (race.race_id, alone):
        assert all(fact.holds for fact in verify(await timed.replay(heat)))
    listed = request(timed, "GET", "/api/v1/replays?game=corners").json["replays"]
    assert {race.race_id, alone} <= {replay["race"] for replay in listed}
    scores = request(timed, "GET", f"/api/v1/players/{people['ada']}").json
    assert [each["race"] for each in scores["races"]] == [race.race_id]
    assert request(timed, "GET", f"/api/v1/players/{people['ada']}/versus/{people['bo']}").status == 200


def answers(race: SealedRace, targets: list[str], viewers: dict[str, str | None]) -> dict[tuple[str, str], Answer]:
    """Return what each viewer is told at each address, but for metrics. Pages are the same for all."""
    return {
        (target, name): told(race, target, **bearer(token))
        for name, token in viewers.items()
        for target in targets
        if (token is None or target.startswith("/api")) and not target.startswith("/metrics")
    }


def told_without_names(race: SealedRace, target: str, names: dict[str, str]) -> Answer:
    """Return what is told about others, with the names in `names` instead of their own; without digests and times, and
    without the names of the racers, which a page only has if the race is not in memory.
    """
    for name, own in names.items():
        target = re.sub(rf"\b{name}\b", own, target)  # ids of players can contain "ada"
    answer = told(race, target)
    body, headers = answer.body, json.dumps(answer.headers)
    for name, own in names.items():
        body = re.sub(rb"\b%b\b" % own.encode(), name.encode(), body)
    body, headers = re.sub(rb"[0-9a-f]{64}|\d{13}|, raced by [^.]*", b"", body), re.sub("[0-9a-f]{32}", "", headers)
    return Answer(answer.status, json.loads(headers), body)


def computed(server: TimedServer) -> tuple[list[bytes], list[bytes]]:
    """Return the stored pars, analyses and pieces of advice, and how many were computed, once none is in progress."""
    pending, metrics = re.compile(rb'samedeal_queued\{queue="(par|analysis)"\} [^0]'), "/metrics"
    wait_until(lambda: not pending.search(request(server, "GET", metrics).body))
    with Redis.from_url(server.store_url) as redis:
        keys = [key for kind in ("par", "analysis", "advice") for key in redis.scan_iter(f"{kind}:*")]
    return sorted(keys), re.findall(rb"samedeal_results_total.*", request(server, "GET", metrics).body)


def check_practice(server: TimedServer, code: str) -> None:
    """Assert that a board, advice, and par of a deal are made as for any code, which has all the cards in it."""
    root = code.partition(":")[2].partition(".")[0]
    guess = code.replace(root, sha256(f"practice {root}".encode()).hexdigest())  # nobody has asked for it before
    for what, body in (("par", None), ("board", b"{}"), ("board", b'{"moves": ["x"]}'), ("advice", b"{}")):
        asked = [
            request(server, "POST" if body else "GET", f"/api/v1/deals/{each}/{what}", body) for each in (code, guess)
        ]
        assert asked[0].status == asked[1].status, what
        assert asked[0].headers.keys() == asked[1].headers.keys(), what


def check_results_are_sealed(
    timed: TimedServer, contest: Contest, heats: list[str], people: dict[str, str], viewers: dict[str, str | None]
) -> None:
    """Assert that nobody sees results except fay, who has played everything."""
    for heat in heats:
        view = request(timed, "GET", f"/api/v1/races/{heat}").json
        assert (view["n"], view.get("standings"), view.get("deal")) == (0, None, None)
        assert request(timed, "GET", f"/api/v1/races/{heat}/card.txt?seat=1").status == 404
        for card in ("card.txt", "card.svg"):
            body = request(timed, "GET", f"/api/v1/races/{heat}/{card}").body.decode()
            assert not re.findall(rf"\b({'|'.join(people)})\b", body), body
        assert request(timed, "GET", f"/api/v1/races/{heat}/evening").json["races"] == []
        preview = request(timed, "GET", f"/r/{heat}", None, Accept="text/plain").body.decode()
        names = [name for name in preview.replace(".", " ").replace(",", " ").split() if name in people]
        assert names == sorted(names)
    for query in ("", "?game=corners", f"?player={people['ada']}", f"?deal={contest.code(1)}"):
        listed = request(timed, "GET", f"/api/v1/replays{query}").json["replays"]
        assert not [replay for replay in listed if replay["race"] in heats]
    for token in viewers.values():
        for player in people.values():
            answer = request(timed, "GET", f"/api/v1/players/{player}", None, **bearer(token))
            assert answer.status == 404 or (answer.json["races"], answer.json["scores"]["games"]) == ([], [])
    for player, other in permutations(people.values(), 2):
        assert request(timed, "GET", f"/api/v1/players/{player}/versus/{other}").status == 404
    for name, token in viewers.items():
        page = contest.page(timed, token)
        assert (page.secret, page.codes) == (None, [None, None])
        assert (page.results is not None) == (name == "fay")
        assert page.names == sorted(page.names)
        assert page.next is None
        has_raced = name in ("fay", "gil") or (name == "ada" and page.played[0] > 3)
        assert [bool(result) for result in page.yours] == [has_raced, name == "fay"]
        if name != "fay":
            assert {(result.place, result.points) for result in page.yours if result} <= {(0, 0.0)}
    sealed = request(timed, "GET", f"/api/v1/challenges/{contest.id}/log")
    assert (sealed.status, sealed.json["code"]) == (403, "replay-sealed")


async def check_that_a_heat_stays_plain(
    timed: TimedServer, contest: Contest, race: SealedRace, viewers: dict[str, str]
) -> None:
    """Assert that a heat refuses rematches, ghosts, seeds, server bots and changes."""
    lobby = contest.heat(timed, 1, viewers["dan"], max_racers=4)
    for body, code in (
        ({"again": race.race_id}, "not-allowed"),
        ({"again": race.race_id, "game": "gallery"}, "not-allowed"),
        ({"ghosts": [race.race_id]}, "replay-sealed"),
        ({"challenge": contest.id, "seed": "7"}, "bad-request"),
        ({"challenge": contest.id, "ghosts": [race.race_id]}, "bad-request"),
        ({"challenge": contest.id, "options": {"finishers": "all"}}, "bad-request"),
        ({"challenge": contest.id, "options": {"spectators": "open"}}, "bad-request"),
        ({"challenge": contest.id, "deal": 3}, "not-found"),
    ):
        answer = post(timed, "/races", body, viewers["ada"])
        assert (answer.status >= 400, answer.json["code"]) == (True, code), body
        assert clean(answer, race)
    changed = post(timed, "/races", {"again": lobby, "options": {"undo": False}}, viewers["dan"])
    assert changed.json["code"] == "not-allowed"
    async with connected(timed, viewers["dan"]) as dan:
        await dan.join(lobby)
        for kind, fields in ((m.Bot, {"level": "beginner"}), (m.Again, {"game": "gallery"})):
            refused = await dan.ask(kind, **fields)
            assert isinstance(refused, m.Problem)
            assert refused.code == "not-allowed"


async def test_only_the_first_race_on_a_deal_unlocks_the_results(timed: TimedServer) -> None:
    """It counts although it is abandoned, and while it is running the player can race the deal nowhere else."""
    timed.noon("2027-04-05")
    ada, bo = guest(timed, "ada")[0], guest(timed, "bo")[0]
    contest = open_contest(timed, ["gallery"], ada)
    await race_alone(timed, contest, 1, bo, moves=5)
    first, second = contest.heat(timed, 1, ada, max_racers=2), contest.heat(timed, 1, ada)
    async with connected(timed, ada) as racer, connected(timed, bo) as other:
        for each in (other, racer):
            await each.join(first)
            await each.ask(m.Ready)
        for each in (other, racer):
            await each.until(lambda view: view.stage == "running")
        refused = await racer.join(second)
        assert isinstance(refused, m.Problem)
        assert refused.code == "untimely"
        refused = await other.join(second)
        assert isinstance(refused, m.Problem)
        assert refused.code == "race-full"
        page = contest.page(timed, ada)
        assert (page.counts, page.yours, page.results) == ([first], [None], None)
        for _ in range(2):
            await other.move((other.board.moves or [])[0])
    timed.advance(contest.header.deals[0].options.limit_ms)  # they have gone
    page = await contest.once(timed, lambda page: page.results, ada)
    counted = {row.name: row.deals[0].race for row in page.results or () if row.deals[0]}
    assert counted["ada"] == first
    assert counted["bo"] != first, "bo has raced the deal before"
    assert [result and result.race for result in page.yours] == [first]
    await until(
        lambda: b"raced by ada, bo." in request(timed, "GET", f"/r/{first}").body, "bo, who was better, is second"
    )


async def test_a_second_identity_sees_what_any_player_sees(timed: TimedServer) -> None:
    """Its own cards and, once it has played every deal, the results of all, but nobody else's cards or replay."""
    timed.noon("2027-04-09")
    (first, one), (second, two), (rival, _) = (guest(timed, name) for name in ("ada", "ida", "bo"))
    contest = open_contest(timed, ["corners", "gallery"], first)
    heats = [await race_alone(timed, contest, 1, token, moves=4) for token in (first, rival)]
    boards = []
    for token in (first, second):
        again = contest.heat(timed, 1, token)
        async with connected(timed, token) as racer:
            view = await racer.join(again)
            assert isinstance(view, m.View)
            assert [standing.name for standing in view.standings] == [{first: "ada", second: "ida"}[token]]
            await racer.ask(m.Ready)
            boards.append((await racer.until(lambda view: view.stage == "running")).board)
            assert isinstance(await racer.join(heats[1]), m.Problem)
            await racer.join(again)
            await racer.ask(m.Resign)
    assert boards[0] == boards[1]
    await contest.once(timed, lambda page: [*page.played] == [3, 0])
    for token in (first, second):
        page = contest.page(timed, token)
        assert (page.results, page.next, page.secret, page.codes) == (None, None, None, [None, None])
        assert [result and (result.place, result.points) for result in page.yours] == [(0, 0.0), None]
        for path in (f"players/{one}/versus/{two}", *(f"replays/{heat}.json" for heat in heats)):
            assert request(timed, "GET", f"/api/v1/{path}", None, **bearer(token)).status in (403, 404), path
    given_up = await race_alone(timed, contest, 2, second)
    page = await contest.once(timed, lambda page: page.results, second)
    assert sorted(row.name for row in page.results or ()) == ["ada", "bo", "ida"], "both identities are in the table"
    assert (page.secret, page.codes, contest.page(timed, first).results) == (None, [None, None], None)
    for heat in (*heats, given_up):
        assert request(timed, "GET", f"/api/v1/replays/{heat}.json", None, **bearer(second)).status == 403


async def test_open_results_are_shown_at_once_but_no_cards(timed: TimedServer) -> None:
    timed.noon("2027-04-07")
    contest = open_contest(timed, ["corners"], guest(timed, "dan")[0], spectators="progress", unlisted=False)
    async with sealed_race(timed, "corners", contest=contest) as race:
        await play_and_check(race, standings=True)
        eve = [decoding.decode_from_server(packet, race.lines["eve"].form) for packet in race.lines["eve"].packets]
        assert [each for each in eve if isinstance(each, m.Progress) and each.n], "she sees how they are doing"
        await over(race, contest)
        page = contest.page(timed)
        assert [row.name for row in page.results or ()]
        assert (page.secret, page.codes) == (None, [None])
        listed = request(timed, "GET", "/api/v1/replays").json["replays"]
        assert [replay["deal"] for replay in listed if replay["race"] == race.race_id] == [None]
        answers(race, all_targets(race), {"mallory": None, "ada": race.tokens["ada"], "eve": race.tokens["eve"]})
        for name, line in race.lines.items():
            assert reveals_nothing(race, name, line.packets, line.form)
    assert json.loads(request(timed, "GET", f"/api/v1/players/{race.players['ada']}").body)["races"]

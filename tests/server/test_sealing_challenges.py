"""Nobody learns a deal of a challenge, or how others did on it, before it is revealed."""

import asyncio
import json
import re
from collections.abc import Iterator
from hashlib import sha256
from itertools import pairwise, permutations

import pytest
from redis import Redis

from conftest import kept_store
from samedeal.proof.verification import verify
from samedeal.race.race import Race
from samedeal.replays.challenge_log import read_challenge
from samedeal.wire import decoding
from samedeal.wire import messages as m
from support.contests import (
    Contest,
    bearer,
    connected,
    guest,
    open_contest,
    post,
    race_alone,
)
from support.event_stream import EventStream
from support.leak_probes import HEADERS, SUFFIXES, all_requests, clean, fill_headers, stored, target_url, url_suffixes
from support.logged_server import Answer, Line, request
from support.sealed_race import (
    SealedRace,
    check_packets,
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
            yield running
            assert running.failures() == []


async def over(scene: SealedRace, contest: Contest) -> None:
    """Ada and bo resign; return when the heat counts."""
    for name in ("ada", "bo"):
        assert isinstance(await scene.lines[name].ask("resign"), m.View)
    await contest.once(scene.server, lambda page: page.played[0] >= 3)


def news(line: Line) -> list[m.View | m.Progress]:
    """Return what a connection was sent about the race without a request since the deal, but for news of watchers."""
    messages = [decoding.decode_from_server(packet, line.form) for packet in line.packets]
    sent = [each for each in messages if isinstance(each, m.View | m.Progress) and each.re is None]
    waiting = ("open", "countdown")
    return [
        each
        for before, each in pairwise(sent)
        if each.watching == before.watching and not (isinstance(each, m.View) and each.stage in waiting)
    ]


async def test_no_message_reveals_a_challenge(timed: TimedServer) -> None:
    """Nobody learns the cards of other racers in a heat, and spectators do not learn how the racers are doing."""
    timed.noon("2027-04-01")
    contest = open_contest(timed, ["corners", "gallery"], guest(timed, "dan")[0])
    fay, _ = guest(timed, "fay")
    for deal in (1, 2):
        await race_alone(timed, contest, deal, fay, moves=3)
    async with sealed_race(timed, "corners", contest=contest) as race:
        with EventStream(timed, race.race_id) as stream:
            first = await stream.event()
            assert isinstance(first, m.View)
            await race.lines["eve"].ask("ping")
            dealt = news(race.lines["eve"])
            await play(race, 10)
            await asyncio.sleep(0.3)  # until the last progress is sent
            for name, line in race.lines.items():
                await line.ask("ping")
                check_packets(race, name, line, boards=False, standings=name != "eve")
            start = Race.opened(race.header, race.secret).digest
            assert news(race.lines["eve"]) == dealt
            for view in (*dealt, first):
                assert isinstance(view, m.View)
                assert (view.stage, view.n, view.h, view.standings) == ("running", 0, start, ())
            await over(race, contest)
            while isinstance(last := await stream.event(), m.Progress):
                assert (last.n, last.standings, last.ghosts) == (0, (), ()), "only the number of watchers"
            assert isinstance(last, m.View)
            assert (last.stage, last.n, last.h, last.standings, last.deal) == ("over", 0, start, (), None)
            assert await stream.event() is None, "the events have said something during the race"
            assert reveals_nothing(race, "mallory", stream.packets, "json")
        for fields in all_requests(race):
            for line in race.lines.values():
                if fields["t"] != "move":
                    await line.ask(**fields)
            async with await Line.open(timed, "json", "mallory") as stranger:
                answer = await stranger.ask(**fields)
                assert not isinstance(answer, m.View) or (answer.standings, answer.n) == ((), 0)
                assert reveals_nothing(race, "mallory", stranger.packets, stranger.form)
        for name, line in race.lines.items():
            assert reveals_nothing(race, name, line.packets, line.form)
        seen = await race.lines["ada"].ask("join", race=race.race_id)
        assert isinstance(seen, m.View)
        assert len(seen.standings) == 3, "racers see the standings of their own heat"
        assert found(timed.log.encode(), race.forbidden()) == []
        with Redis.from_url(timed.store_url) as redis:
            assert not [*redis.scan_iter(f"*{race.seed.partition('.')[0]}*")], "something about the deal is cached"
        timed.set_clock(race.header.reveals_at + 60_000)
        shown = await race.lines["eve"].ask("watch", race=race.race_id)
    assert isinstance(shown, m.View)
    assert shown.deal == contest.code(1), "the test searched for the wrong deal"
    assert len(shown.standings) == 3


@pytest.mark.timeout(180)
async def test_no_url_reveals_a_challenge(timed: TimedServer) -> None:
    """Neither during a heat nor after it, to racers, players who have played everything, or strangers."""
    timed.noon("2027-04-03")
    dan, fay, gil = (guest(timed, name) for name in ("dan", "fay", "gil"))
    contest = open_contest(timed, ["corners", "gallery"], dan[0], unlisted=False)
    alone = await race_alone(timed, contest, 1, gil[0], moves=2)
    for deal in (1, 2):
        await race_alone(timed, contest, deal, fay[0], moves=3)
    secret = contest.secret.hex().encode()
    async with sealed_race(timed, "corners", contest=contest) as race:
        before = request(timed, "GET", f"/api/v1/races/{race.race_id}/card.svg")
        await play(race, 10)
        after = request(timed, "GET", f"/api/v1/races/{race.race_id}/card.svg")
        assert (before.headers["etag"], before.body) == (after.headers["etag"], after.body)
        people = {**race.players, "dan": dan[1], "fay": fay[1], "gil": gil[1]}
        viewers = {**race.tokens, "dan": dan[0], "fay": fay[0], "gil": gil[0]}
        race.players |= people
        targets = [target_url(path, end) for path, ends in url_suffixes(race).items() for end in ends]
        for heat in (race.race_id, alone):
            paths = ("/events", "/card.txt?seat=1", "/card.svg", "/card.png", "/par?seat=1", "/par.svg", "/evening", "")
            targets += [f"/api/v1/races/{heat}{path}" for path in paths if heat != race.race_id or path != "/events"]
            targets += [f"/api/v1/replays/{heat}{suffix.replace('#', '%23')}" for suffix in SUFFIXES]
            targets += [
                f"/api/v1/{path}" for path in (f"races/{heat}/analysis", f"solutions/{heat}", f"replays?{heat}")
            ]
        targets = [target.replace("{race}", race.race_id) for target in dict.fromkeys(targets)]
        for is_over in (False, True):
            await asyncio.to_thread(check_targets, race, targets, viewers)
            await asyncio.to_thread(check_results_are_sealed, timed, contest, [race.race_id, alone], viewers, people)
            assert secret in stored(timed.store_url), "a heat is over"
            if not is_over:
                await over(race, contest)
                targets.append(f"/api/v1/races/{race.race_id}/events")
        await check_that_a_heat_stays_plain(timed, contest, race, viewers)
    timed.set_clock(contest.header.reveals_at + 60_000)
    page = await contest.revealed(timed)
    assert page.secret == contest.secret.hex()
    assert page.codes == [contest.code(1), contest.code(2)]
    assert [*page.names] == sorted(row.name for row in page.results or ()) == ["ada", "bo", "cy", "fay", "gil"]
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


def check_targets(race: SealedRace, targets: list[str], viewers: dict[str, str]) -> None:
    """Assert that no viewer learns anything from the targets, not even whether a guess of the deal is right."""
    tokens, guess = (
        [bearer(viewers[name]) for name in ("ada", "eve", "fay")],
        race.seed.replace(race.seed.partition(".")[0], "a-wrong-guess"),
    )
    for target in targets:
        if race.seed in target:
            answers = [request(race.server, "GET", target.replace(race.seed, seed)) for seed in (race.seed, guess)]
            assert told(answers[0], race.seed, guess) == told(answers[1], race.seed, guess), target
            continue
        is_replay = target.startswith("/api/v1/replays/")
        for headers in [*(HEADERS if is_replay else HEADERS[:1]), *tokens]:
            answer = request(race.server, "GET", target, None, **fill_headers(headers, race))
            assert clean(answer, race), target
            assert not is_replay or (answer.status != 200 and "etag" not in answer.headers), target
    check_practice(race, [*dict.fromkeys(viewers.values())])


def told(answer: Answer, seed: str, guess: str) -> tuple[int, set[str], bytes]:
    """Return what an answer tells about a deal: nothing, if it is the same for another one."""
    return answer.status, {*answer.headers}, answer.body.replace(seed.encode(), guess.encode())


def check_practice(race: SealedRace, tokens: list[str]) -> None:
    """Assert that a board, advice, or par of the deal are made as for any code, which has all the cards in it."""
    root, _, index = race.seed.partition(".")
    for token in (None, *tokens):
        for what, body in (("par", None), ("board", b"{}"), ("board", b'{"moves": ["draw"]}'), ("advice", b"{}")):
            guess = f"{sha256(f'{root}{token}'.encode()).hexdigest()}.{index}"  # nobody has asked for it before
            for seed in (guess, race.seed):
                path, method = f"/api/v1/deals/corners:{seed}/{what}", "POST" if body else "GET"
                assert request(race.server, method, path, body, **bearer(token)).status in (200, 202, 429), what


def check_results_are_sealed(
    timed: TimedServer, contest: Contest, heats: list[str], viewers: dict[str, str], people: dict[str, str]
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
    for token in (None, *viewers.values()):
        for player in people.values():
            answer = request(timed, "GET", f"/api/v1/players/{player}", None, **bearer(token))
            assert answer.status == 404 or (answer.json["races"], answer.json["scores"]["games"]) == ([], [])
    for player, other in permutations(people.values(), 2):
        assert request(timed, "GET", f"/api/v1/players/{player}/versus/{other}").status == 404
    for name, token in (("mallory", None), *viewers.items()):
        page = contest.page(timed, token)
        assert (page.secret, page.codes) == (None, [None, None])
        assert (page.results is not None) == (name == "fay")
        assert page.names == sorted(page.names)
        assert page.next is None
        assert [bool(result) for result in page.yours] == [
            [name in ("fay", "gil"), name == "fay"],
            [name in ("ada", "bo", "cy", "fay", "gil"), name == "fay"],
        ][page.played[0] > 2]
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
        for each in (racer, other):
            await each.join(first)
            await each.ask(m.Ready)
        await racer.until(lambda view: view.stage == "running")
        refused = await racer.join(second)
        assert isinstance(refused, m.Problem)
        assert refused.code == "untimely"
        refused = await other.join(second)
        assert isinstance(refused, m.Problem)
        assert refused.code == "race-full"
        page = contest.page(timed, ada)
        assert (page.counts, page.yours, page.results) == ([first], [None], None)
        for _ in range(2):
            await racer.move((racer.board.moves or [])[0])
    timed.advance(contest.header.deals[0].options.limit_ms)  # ada has gone
    page = await contest.once(timed, lambda page: page.results, ada)
    counted = {row.name: row.deals[0].race for row in page.results or () if row.deals[0]}
    assert counted["ada"] == first
    assert counted["bo"] != first, "bo has raced the deal before"
    assert [result and result.race for result in page.yours] == [first]


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
        await play(race, 10)
        await asyncio.sleep(0.3)  # until the last progress is sent
        for name, line in race.lines.items():
            await line.ask("ping")
            check_packets(race, name, line, boards=False)
        assert len(news(race.lines["eve"])) > 1
        await over(race, contest)
        page = contest.page(timed)
        assert [row.name for row in page.results or ()]
        assert (page.secret, page.codes) == (None, [None])
        listed = request(timed, "GET", "/api/v1/replays").json["replays"]
        assert [replay["deal"] for replay in listed if replay["race"] == race.race_id] == [None]
        targets = [target_url(path, end) for path, ends in url_suffixes(race).items() for end in ends]
        for target in (target for target in targets if race.seed not in target):
            for token in (None, race.tokens["ada"], race.tokens["eve"]):
                assert clean(request(timed, "GET", target, None, **bearer(token)), race), target
        for name, line in race.lines.items():
            assert reveals_nothing(race, name, line.packets, line.form)
    assert json.loads(request(timed, "GET", f"/api/v1/players/{race.players['ada']}").body)["races"]

"""While a race runs nobody learns what is not theirs to know: everything that anybody receives is searched for it.

The tests know the whole deal, the secret, the nonces and the tokens. They collect every byte that goes out of the
server, to racers, to one who has stopped, to onlookers and strangers, by every message and every address, and into the
store and the log, and look for them there.
"""

import asyncio
import base64
import hmac
import json
import re
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from redis import Redis
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute
from websockets.exceptions import ConnectionClosed

from conftest import kept_store
from samedeal.cards import Pile
from samedeal.computer.deal_filters import first
from samedeal.computer.par import par
from samedeal.game import Game
from samedeal.games.catalogue import GAMES
from samedeal.proof import commitments
from samedeal.proof.signature import public_key
from samedeal.proof.verification import verify
from samedeal.race.events import Header, entry_bytes
from samedeal.race.seat import Standing
from samedeal.replays.replay import Replay
from samedeal.values import replace
from samedeal.wire import codec
from samedeal.wire import messages as m
from samedeal_server.app import create_app
from samedeal_server.settings import Keys, Settings
from support.logged_server import Answer, Line, LoggedServer, request
from support.servers import MASTER_KEY, SIGNING_KEY
from support.timed_server import TimedServer

KEY, PRIVATE_KEY = bytes.fromhex(MASTER_KEY), bytes.fromhex(SIGNING_KEY)
CARD = re.compile(r"(?<![0-9A-Za-z])[A2-9TJQK][SHCD](?![0-9A-Za-z])")
REPLAY_FORMS = ("json", "msgpack", "ndjson")
RACERS = ("ada", "bo", "cy")
"""Who races; cy stops at once and looks on from then."""


@pytest.fixture(scope="module")
def server(store_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoggedServer]:
    """A server that logs and counts all it can."""
    log = tmp_path_factory.mktemp("sealing") / "log"
    server = LoggedServer(
        store_url, log, connections_per_address="0", log_level="debug", log_format="json", metrics="on"
    )
    with server.start() as running:
        yield running


@pytest.fixture(scope="module")
def timed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TimedServer]:
    """A server with a store of its own, on which it is noon."""
    folder = tmp_path_factory.mktemp("timed")
    for url in kept_store(folder / "store"):
        with TimedServer(url, folder, connections_per_address="0", log_level="debug", metrics="on").start() as running:
            running.noon("2027-03-14")
            yield running


@dataclass
class Hand:
    """One racer's way through the deal, folded without the race: the positions after each ply."""

    positions: list[Game]
    past: list[Game] = field(default_factory=list)
    said: set[str] = field(default_factory=set)
    """Why moves were refused, as it follows from this hand alone."""

    @property
    def game(self) -> Game:
        return self.positions[-1]

    @property
    def ply(self) -> int:
        return len(self.positions) - 1

    def make(self, move: str) -> None:
        game = self.game
        if move == "restart":
            self.positions.append(self.positions[0])
            self.past = []
        elif move == "undo":
            self.positions.append(self.past.pop())
        else:
            self.positions.append(game.after(move))
            self.past = [] if len(game.table.piles.get("stock", ())) != len(self.stock) else [*self.past, game]

    @property
    def stock(self) -> Pile:
        return self.game.table.piles.get("stock", ())

    def any_move(self, chance: Random) -> str | None:
        """A move that is allowed, now and then undo or a new attempt."""
        if self.game.won:
            return None
        begun = self.game != self.positions[0]
        if self.game.over or (begun and chance.random() < 0.05):
            return "restart" if begun else None
        if self.past and chance.random() < 0.2:
            return "undo"
        return chance.choice(self.game.moves())

    def seen(self, ply: int) -> set[str]:
        """The cards that this racer's own moves have turned up by then."""
        return {card for game in self.positions[: ply + 1] for pile in shown(game).values() for card in pile} - {"??"}


def shown(game: Game) -> dict[str, list[str]]:
    """The table with the face-down cards turned down: they are those of the stock, in every game."""
    return {
        place: ["??"] * len(pile) if place == "stock" else [str(card) for card in pile]
        for place, pile in game.table.piles.items()
    }


@dataclass
class Scene:
    """A race that runs, who is there, and everything that must not come out."""

    server: LoggedServer
    header: Header
    seed: str
    secret: bytes
    hands: dict[str, Hand]
    lines: dict[str, Line]
    tokens: dict[str, str]
    nonces: dict[str, bytes]

    @property
    def race(self) -> str:
        return self.header.race

    @property
    def sealed(self) -> bool:
        return self.header.seed is None

    def forbidden(self, viewer: str | None = None) -> list[bytes]:
        """What a viewer must not find in any form: None is everybody who has neither token nor nonce."""
        hidden = [self.secret, KEY, PRIVATE_KEY]
        hidden += [nonce for name, nonce in self.nonces.items() if name != viewer]
        texts = [token for name, token in self.tokens.items() if name != viewer]
        if self.sealed:
            root, _, _ = self.seed.partition(".")
            hidden.append(bytes.fromhex(root))
            texts.append(self.seed)
        return [form for raw in hidden for form in forms(raw)] + [text.encode() for text in texts]


def forms(raw: bytes) -> Iterator[bytes]:
    """Bytes as they are and as texts."""
    yield raw
    yield raw.hex().encode()
    yield raw.hex().upper().encode()
    yield base64.b64encode(raw).rstrip(b"=")
    yield base64.urlsafe_b64encode(raw).rstrip(b"=")


@asynccontextmanager
async def scene(
    server: LoggedServer, game: str, seed: str | None = None, spectators: str = "progress", daily: bool = False
) -> AsyncIterator[Scene]:
    """A race that has just been dealt: ada and bo play, cy has resigned, eve looks on."""
    options: dict[str, Any] = {"start_delay_ms": 300, "max_racers": 3}
    if daily:
        opening = json.dumps({"game": game, "daily": True, "options": options}).encode()
        race = request(server, "POST", "/api/v1/races", opening).json["race"]
    else:
        race = server.create(game, seed=seed, spectators=spectators, **options)
    header = msgspec.convert(request(server, "GET", f"/api/v1/races/{race}").json["header"], Header)
    secret = commitments.daily_secret(KEY, game, header.date) if daily else commitments.secret(KEY, race, header.salt)
    nonces = {name: sha256(f"{race} {name}".encode()).digest() for name in RACERS}
    root = commitments.root(secret, () if daily else nonces.values())
    dealt = seed or f"{root}.{first(GAMES[game], root, {}, header.options.filter)}"
    async with AsyncExitStack() as stack:
        lines, tokens = {}, {}
        for name, form in zip((*RACERS, "eve"), ("json", "msgpack", "json", "msgpack"), strict=True):
            line = lines[name] = await stack.enter_async_context(
                await Line.open(server, "json" if form == "json" else "msgpack")
            )
            welcome = await line.ask("hello", name=name)
            assert isinstance(welcome, m.Welcome)
            assert welcome.token
            tokens[name] = welcome.token
        await lines["eve"].ask("watch", race=race)
        for name in RACERS:
            joined = await lines[name].ask(
                "join", race=race, commitment=commitments.nonce_commitment(race, nonces[name])
            )
            assert isinstance(joined, m.View)
        for name in RACERS:
            await lines[name].ask("ready")
        for name in RACERS:
            assert isinstance(await lines[name].ask("nonce", nonce=nonces[name].hex()), m.View)
        for line in lines.values():
            while not (isinstance(message := await line.hear(), m.View) and message.stage == "running"):
                pass
        assert isinstance(await lines["cy"].ask("resign"), m.View)
        hands = {name: Hand([GAMES[game].from_seed(dealt)]) for name in RACERS}
        yield Scene(server, header, dealt, secret, hands, lines, tokens, nonces)


async def play(scene: Scene, rounds: int) -> None:
    """The two play at random, and try moves that are none between them."""
    chance = Random(scene.header.game)
    places = list(scene.hands["ada"].game.table.piles)
    tries = ["draw", "redeal", "deal", "undo", "restart", "w", *places]
    tries += [first + second for first in places for second in places] + [f"{place}-" for place in places]
    for _ in range(rounds):
        for name in ("ada", "bo"):
            line, hand = scene.lines[name], scene.hands[name]
            for token in chance.sample(tries, 3):
                allowed = {*hand.game.moves(), *(["undo"] if hand.past else []), "restart"}
                if token not in allowed:
                    hand.said.add(hand.game.why_not(token))
                    assert isinstance(await line.ask("move", move=token, ply=hand.ply), m.Problem)
            move = hand.any_move(chance)
            if move:
                before = hand.ply
                hand.make(move)
                assert isinstance(await line.ask("move", move=move, ply=before), m.View), move


async def finish(scene: Scene) -> Replay:
    """The two stop, and the race is over."""
    for name in ("ada", "bo"):
        await scene.lines[name].ask("resign")
    return await scene.server.replay(scene.race)


def texts(content: Any) -> Iterator[str]:
    """Every text in what JSON can hold, names of fields included."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, dict):
        for name, value in content.items():
            yield from texts(name)
            yield from texts(value)
    elif isinstance(content, list | tuple):
        for value in content:
            yield from texts(value)


def cards(content: Any) -> set[str]:
    return {card for text in texts(content) for card in CARD.findall(text)}


def found(data: bytes, forbidden: Iterable[bytes]) -> list[bytes]:
    return [secret for secret in forbidden if secret in data]


def check_heard(scene: Scene, name: str, line: Line, *, boards: bool, standings: bool = True) -> None:
    """Everything that a viewer has heard until now is what this viewer may hear.

    `boards` is whether the tables of others may be there, `standings` whether onlookers may know how the race goes.
    """
    hand, ply = scene.hands.get(name), 0
    public = {scene.race, scene.header.game, scene.header.rules, scene.header.commitment, scene.header.salt}
    public |= {"open", "countdown", "running", scene.header.options.spectators, scene.header.options.filter, *RACERS}
    public |= {"waiting", "ready", "playing", "stuck", "lost", "over", "won", "resigned"}
    if not scene.sealed:
        public |= {scene.seed, f"{scene.header.game}:{scene.seed}"}
    assert line.packets
    for packet in line.packets:
        message = codec.decode_from_server(packet, line.form)
        assert codec.encode(message, line.form) == packet, "there is something that is not in the messages"
        assert found(packet, scene.forbidden(name)) == []
        content = json.loads(codec.encode(message, "json"))
        if isinstance(message, m.View):
            table = content.pop("board", None)
            if table is not None:
                assert hand, f"{name} has no table"
                ply = table["ply"]
                game = hand.positions[ply]
                assert table["table"] == shown(game)
                assert table.get("moves") == ([] if name == "cy" else list(game.moves())) or ply == 0
                assert cards(table) <= hand.seen(ply)
            for seat, other in content.pop("boards", {}).items():
                assert boards, f"{name} sees the table of seat {seat}"
                rival = scene.hands[RACERS[int(seat) - 1]]
                assert other["table"] == shown(rival.positions[other["ply"]])
                assert "moves" not in other
                assert cards(other) <= rival.seen(other["ply"])
            assert message.h == content.pop("h")
            assert message.deal is None or not scene.sealed
        if isinstance(message, m.View | m.Progress):
            if not standings and getattr(message, "stage", "running") == "running":
                assert message.standings == ()
            values = {text for text in texts(content) if text not in FIELDS}
            assert values <= public, values - public
        elif isinstance(message, m.Problem):
            known = hand.seen(ply) if hand else set()
            assert cards(content) <= known or (hand and message.detail in hand.said)


FIELDS = {field for kind in (m.View, m.Progress, Header) for field in kind.__struct_fields__} | {
    "t",
    "view",
    "progress",
}
FIELDS |= set(Standing.__struct_fields__) | set(Header.__struct_fields__) | {"limit_ms", "max_racers", "spectators"}
FIELDS |= {"start_delay_ms", "undo", "attempts", "filter", "unlisted"}


# What a position tells.


@pytest.mark.parametrize("game", sorted(GAMES))
def test_nothing_that_is_told_of_a_position_depends_on_a_hidden_card(game: str) -> None:
    """With the stock shuffled it looks the same, allows the same, and refuses the same in the same words."""
    chance, compared = Random(game), 0
    for seed in range(6):
        hand = Hand([GAMES[game].from_seed(f"{seed}")])
        places = list(hand.game.table.piles)
        tries = ["draw", "redeal", "deal", "w", *places, *(f"{place}-" for place in places)]
        tries += [chance.choice(places) + chance.choice(places) for _ in range(50)]
        for _ in range(60):
            other = list(hand.stock)
            chance.shuffle(other)
            twin = replace(hand.game, table=hand.game.table.put({"stock": tuple(other)} if other else {}))
            compared += twin != hand.game
            assert told(twin, tries) == told(hand.game, tries)
            move = hand.any_move(chance)
            if move is None:
                break
            hand.make(move)
    assert compared > 20 or game == "corner-stones", "the stock was never shuffled"


def told(game: Game, tries: Iterable[str]) -> tuple[Any, ...]:
    why = [game.why_not(move) for move in tries if move not in game.moves()]
    return game.view(), game.notes, game.moves(), game.outcome, game.home, game.progress, why


# What is sent over the socket.


@pytest.mark.parametrize("seed", [None, "7"])
@pytest.mark.parametrize("game", sorted(GAMES))
async def test_each_sees_the_own_table_and_nothing_else(server: LoggedServer, game: str, seed: str | None) -> None:
    async with scene(server, game, seed) as race:
        await play(race, 25)
        await asyncio.sleep(0.3)  # until the last progress is told
        for name, line in race.lines.items():
            await line.ask("ping")
            check_heard(race, name, line, boards=False)
        replay = await finish(race)
    assert all(fact.holds for fact in verify(replay))
    assert f"{game}:{race.seed}" == f"{game}:{replay.header.seed or race.seed}"
    assert race.secret == replay.secret, "the test would have looked for something else"
    everything = {card for pile in race.hands["ada"].positions[0].table.piles.values() for card in map(str, pile)}
    assert game == "corner-stones" or race.hands["cy"].seen(0) < everything, "the test would have found nothing hidden"


async def test_what_must_not_be_found_would_be(server: LoggedServer) -> None:
    """Once the race is over all of it is there to be found, but for the tokens and the key."""
    async with scene(server, "corners") as race:
        await play(race, 2)
        await finish(race)
        text = request(server, "GET", f"/api/v1/replays/{race.race}.json").body
        last = await race.lines["ada"].ask("watch", race=race.race)
    assert found(text, race.forbidden()) == [race.secret.hex().encode()] + [
        nonce.hex().encode() for nonce in race.nonces.values()
    ]
    assert isinstance(last, m.View)
    assert last.deal == f"corners:{race.seed}"
    assert cards(["AS", "the TD-", {"2C": 1}, ["XAS", "ASK", "as", "1S"]]) == {"AS", "TD", "2C"}


async def test_no_private_key_is_in_what_comes_after_the_race(server: LoggedServer) -> None:
    async with scene(server, "corners") as race:
        await finish(race)
        replays = [request(server, "GET", f"/api/v1/replays/{race.race}.{form}").body for form in REPLAY_FORMS]
        answers = [*replays, *(request(server, "POST", "/api/v1/verify", body).body for body in replays)]
        answers += [request(server, "GET", path).body for path in ("/.well-known/samedeal", f"/r/{race.race}")]
        for line in race.lines.values():
            await line.ask("watch", race=race.race)
            answers += line.packets
    public = public_key(PRIVATE_KEY).encode()
    assert all(public in answer for answer in answers[: 2 * len(replays) + 1]), "there would have been nothing to find"
    assert [found(answer, [*forms(KEY), *forms(PRIVATE_KEY)]) for answer in answers] == [[]] * len(answers)


async def test_onlookers_of_a_race_shown_after_learn_nothing_before(server: LoggedServer) -> None:
    async with scene(server, "corners", spectators="after") as race:
        await play(race, 10)
        for name, line in race.lines.items():
            await line.ask("ping")
            check_heard(race, name, line, boards=False, standings=name != "eve")
        assert "standings" not in request(server, "GET", f"/api/v1/races/{race.race}").json
        await finish(race)
        over = await race.lines["eve"].ask("watch", race=race.race)
        assert isinstance(over, m.View)
        assert {standing.name for standing in over.standings} == set(RACERS)


async def test_tables_are_open_only_where_the_race_says_so_and_never_to_those_who_race(server: LoggedServer) -> None:
    async with scene(server, "corners", spectators="open") as race:
        await play(race, 10)
        seen = {}
        for name, line in race.lines.items():
            view = await line.ask("watch" if name == "eve" else "join", race=race.race)
            assert isinstance(view, m.View)
            seen[name] = set(view.boards or {})
            check_heard(race, name, line, boards=name in ("cy", "eve"))
        assert seen == {"ada": set(), "bo": set(), "cy": {1, 2}, "eve": {1, 2, 3}}
        boards = request(server, "GET", f"/api/v1/races/{race.race}").json["boards"]
        for seat, name in enumerate(RACERS, start=1):
            assert boards[str(seat)]["table"] == shown(race.hands[name].game)


def everything_asked(race: Scene) -> list[dict[str, Any]]:
    """Every request there is, and some that there are not, about a race."""
    nonce, promise = race.nonces["ada"].hex(), commitments.nonce_commitment(race.race, race.nonces["ada"])
    return [
        {"t": "hello", "token": race.tokens["ada"]},
        {"t": "hello", "name": "ada"},
        {"t": "join", "race": race.race},
        {"t": "join", "race": race.race, "commitment": promise},
        {"t": "join", "race": race.race, "commitment": race.header.commitment, "bot": True},
        {"t": "watch", "race": race.race},
        {"t": "watch", "race": f"{race.race}.json"},
        {"t": "watch", "race": f"replay:{{{race.race}}}"},
        {"t": "ready"},
        {"t": "ready", "ready": False},
        {"t": "nonce", "nonce": "0f" * 32},
        {"t": "nonce", "nonce": nonce},
        {"t": "move", "move": "draw", "ply": 0},
        {"t": "move", "move": "undo", "ply": 1},
        {"t": "leave"},
        {"t": "ping"},
        {"t": "watch", "race": race.race, "seat": 1},
        {"t": "view", "race": race.race},
        {"t": "replay", "race": race.race},
    ]


@pytest.mark.parametrize("form", ["json", "msgpack"])
async def test_nobody_gets_more_by_asking_for_it(server: LoggedServer, form: codec.Form) -> None:
    """A stranger, somebody who has a seat in another race, and each of those who are there, with every request."""
    async with scene(server, "the-edge") as race, scene(server, "the-edge") as other:
        await play(race, 3)
        requests = everything_asked(race)
        async with await Line.open(server, form, "mallory") as stranger:
            for asked in requests:
                await stranger.ask(**asked)
            check_heard(race, "mallory", stranger, boards=False)
            for packet in stranger.packets:
                assert found(packet, race.forbidden()) == []
                message = codec.decode_from_server(packet, form)
                if not isinstance(message, m.Welcome):  # a token is any letters, now and then those of a card
                    assert cards(json.loads(codec.encode(message, "json"))) == set()
        for name in ("eve", "cy"):
            line = race.lines[name]
            for asked in requests:
                if asked["t"] != "move":
                    await line.ask(**asked)
            check_heard(race, name, line, boards=False)
        line = other.lines["bo"]
        for asked in requests:
            await line.ask(**asked)
        for packet in line.packets:
            assert found(packet, race.forbidden()) == []
        await line.ask("watch", race=race.race)
        view = await line.ask("watch", race=race.race)
        assert isinstance(view, m.View)
        assert (view.seat, view.board, view.boards, view.deal) == (None, None, None, None)


async def test_a_token_that_is_not_right_shows_nothing(server: LoggedServer) -> None:
    async with scene(server, "corners") as race:
        token = race.tokens["ada"]
        digest = sha256(token.encode()).hexdigest()
        for wrong in (token[:-1], token + "=", token.upper(), digest, f"guest:{digest}", "ada", race.race):
            async with await Line.open(server) as line:
                assert isinstance(await line.ask("hello", token=wrong), m.Problem)
                with pytest.raises(ConnectionClosed):
                    await line.ask("join", race=race.race)
                assert found(b"".join(line.packets), race.forbidden()) == []
        async with await Line.open(server, additional_headers={"Authorization": "Bearer wrong"}) as line:
            assert isinstance(await line.ask("watch", race=race.race), m.Problem)
            assert await line.close_code() == 4003


# What is answered over HTTP.

SUFFIXES = [
    *(
        "",
        ".json",
        ".msgpack",
        ".JSON",
        ".Json",
        ".MSGPACK",
        ".ndjson",
        ".txt",
        ".cast",
        ".svg",
        ".bin",
        ".",
        "..",
        ".json.",
    ),
    *(
        "%2ejson",
        "%2Emsgpack",
        ".j%73on",
        "%252ejson",
        ".json%00",
        "%00",
        "%00.json",
        "%0a",
        ".json%0d%0a",
        "%20",
        "%2f",
    ),
    *(
        "/",
        ".json/",
        "/.json",
        "/../{race}.json",
        ";.json",
        ";x=.json",
        ".json;x",
        "?x=1",
        ".json?form=msgpack",
        "#.json",
    ),
    *(".json.msgpack", ".msgpack.json", ":log", "}:log", "*", "?stage=over", "/entries", "/log", "/replay"),
]
HEADERS: list[dict[str, str]] = [
    {},
    {"Accept": "*/*"},
    {"Accept": "application/json"},
    {"Accept": "application/vnd.msgpack"},
    {"Accept": "application/x-ndjson"},
    {"Accept": "text/html;q=0.1, application/msgpack;q=0.2"},
    {"Range": "bytes=0-100"},
    {"If_None_Match": "*"},
    {"If_Modified_Since": "Thu, 01 Jan 1970 00:00:00 GMT", "Cache_Control": "no-cache"},
    {"X_HTTP_Method_Override": "PUT", "X_Original_URL": "/api/v1/replays/{race}.json", "X_Forwarded_For": "127.0.0.1"},
    {"Authorization": "Bearer {token}"},
    {"Authorization": "Bearer wrong"},
    {"Cookie": "token={token}"},
]


def clean(answer: Answer, race: Scene) -> bool:
    """Whether an answer over HTTP holds nothing that it must not: no card, no secret, no nonce, no token."""
    whole = answer.body + json.dumps(answer.headers).encode()
    assert found(whole, race.forbidden()) == []
    assert CARD.findall(answer.body.decode("latin-1")) == []
    return True


async def test_no_replay_is_to_be_had_before_the_end(server: LoggedServer) -> None:
    async with scene(server, "corners") as race:
        await play(race, 3)
        names = [race.race + suffix.replace("{race}", race.race) for suffix in SUFFIXES]
        names += [race.race.upper(), race.race.replace("-", "%2d"), f"%{ord(race.race[0]):x}{race.race[1:]}.json"]
        for name in names:
            for headers in HEADERS:
                said = {key: value.format(race=race.race, token=race.tokens["ada"]) for key, value in headers.items()}
                answer = request(server, "GET", f"/api/v1/replays/{name.replace('#', '%23')}", None, **said)
                assert clean(answer, race)
                assert answer.status in (403, 404, 406, 307), name
        for method in ("HEAD", "POST", "PUT", "OPTIONS", "PROPFIND"):
            for suffix in ("", *(f".{form}" for form in REPLAY_FORMS)):
                answer = request(server, method, f"/api/v1/replays/{race.race}{suffix}")
                assert clean(answer, race)
                assert answer.status in (403, 405)
                assert "etag" not in answer.headers
        sealed = request(server, "GET", f"/api/v1/replays/{race.race}.json")
        assert sealed.json["code"] == "replay-sealed"
        await finish(race)
        assert request(server, "GET", f"/api/v1/replays/{race.race}.json").status == 200


def everywhere(race: Scene) -> dict[str, list[str]]:
    """Every address there is, with the ends that have to do with a race."""
    code = f"{race.header.game}:{race.seed}"
    return {
        "/api/v1/games": [""],
        "/api/v1/games/{game}": [race.header.game, code, race.race],
        "/api/v1/races": ["", "?stage=running", "?game=corners", "?limit=100", "?seed=7", "?unlisted=true"],
        "/api/v1/races/{race}": [race.race, f"{race.race}?seat=1", f"{race.race}.json", code],
        "/api/v1/races/{race}/par": [race.race, code, race.race.upper()],
        "/api/v1/races/{race}/par.svg": [race.race, code],
        "/api/v1/daily": ["", "?date=2027-03-14"],
        "/api/v1/daily/{date}/{game}": [
            f"{race.header.date}/{race.header.game}",
            f"2027-03-14/{code}",
            "2027-03-15/corners",
        ],
        "/api/v1/replays": ["", "?game=corners", f"?deal={code}", "?player=ada", f"?race={race.race}"],
        "/api/v1/replays/{replay}": [race.race, code],
        "/api/v1/verify": [""],
        "/.well-known/samedeal": ["", f"?race={race.race}"],
        "/healthz": ["", f"?race={race.race}"],
        "/metrics": ["", f"?race={race.race}", f"?name[]={race.race}"],
        "/readyz": [""],
        "/openapi.json": ["", f"?race={race.race}"],
        "/asyncapi.json": [""],
        "/docs": ["", f"?race={race.race}"],
        "/problems/{problem}": ["internal", race.race],
        "/api/v1/replays/{race}/steps": [race.race, code],
        "/r/{race}": [race.race, code, f"{race.race}/log"],
        "/w/{race}": [race.race, code],
        "/replay/{race}": [race.race, code],
        "/rules/{game}": ["corners", code],
        "/page": ["/main.js", f"/{race.race}"],
        "/": [""],
    }


def aimed(path: str, end: str) -> str:
    """An address with its end in the place of what is variable."""
    return re.sub(r"\{.*\}", lambda _: end, path) if "{" in path else path + end


async def test_no_address_tells_anything_of_a_running_race(server: LoggedServer) -> None:
    async with scene(server, "corners") as race, scene(server, "corners", seed="seven") as opened:
        await play(race, 5)
        await play(opened, 5)
        for running in (race, opened):
            code = f"corners:{running.seed}"
            guess = running.seed.replace(running.seed.partition(".")[0], "a-wrong-guess")  # is answered the same
            addresses = everywhere(running)
            known = {*addresses, *PAR_OF_DEALS}
            assert paths(create_app(Settings(), "unix:///nowhere", Keys(KEY, KEY)).routes) == known
            not_there = ["/openapi.yaml", "/debug", f"/api/v1/deals/{code}"]
            not_there += [
                f"/api/v1/races/{running.race}/{more}" for more in ("log", "stream", "boards", "deal", "par/0")
            ]
            for path in [*addresses, *not_there]:
                for end in addresses.get(path, [""]):
                    target = aimed(path, end)
                    for method in ("GET", "HEAD"):
                        for headers in ({}, {"Authorization": f"Bearer {running.tokens['ada']}"}):
                            answer = request(server, method, target, None, **headers)
                            assert answer.status < 500
                            assert path not in not_there or answer.status == 404
                            if running.seed not in target:
                                assert clean(answer, running), target
                                continue
                            wrong = request(server, method, target.replace(running.seed, guess), None, **headers)
                            assert answer.body.replace(running.seed.encode(), guess.encode()) == wrong.body, target
            replays = request(server, "GET", "/api/v1/replays?limit=100").json["replays"]
            assert running.race not in [replay["race"] for replay in replays]
            view = request(server, "GET", f"/api/v1/races/{running.race}").json
            assert view.keys() == {"t", "race", "n", "h", "stage", "clock_ms", "standings", "header"} | (
                set() if running.sealed else {"deal"}
            )


PAR_OF_DEALS = {"/api/v1/deals/{deal:path}/par", "/api/v1/deals/{deal:path}/par/{play}"}
"""What is asked with a deal code; the next test asks."""


async def test_par_tells_nothing_of_a_running_race(server: LoggedServer) -> None:
    """Not by the race, nor by the deal of an open one; and to have guessed a sealed deal is not to be told."""
    async with scene(server, "corners") as race, scene(server, "corners", seed="eight") as opened:
        await play(race, 5)
        await play(opened, 5)
        root = race.seed.partition(".")[0]
        guess = race.seed.replace(root, sha256(root.encode()).hexdigest())
        for headers in ({}, {"Authorization": f"Bearer {race.tokens['cy']}"}, {"Accept": "image/*, */*;q=0.1"}):
            for running in (race, opened):
                for more in ("", ".svg", "?seat=1", ".svg?seat=3"):
                    answer = request(server, "GET", f"/api/v1/races/{running.race}/par{more}", None, **headers)
                    assert answer.json["code"] == "deal-sealed"
                    assert clean(answer, running)
            for more in ("", "/0", "/0.json", "/59.msgpack", "?refill=waste"):
                answer = request(server, "GET", f"/api/v1/deals/corners:eight/par{more}", None, **headers)
                assert answer.json["code"] == "deal-sealed"
                assert clean(answer, opened)
                known, unknown = (
                    request(server, "GET", f"/api/v1/deals/corners:{seed}/par{more}", None, **headers)
                    for seed in (race.seed, guess)
                )
                assert {known.status, unknown.status} <= {200, 202}
        for seed in (race.seed, guess):
            answer = await par_of(server, seed)
            assert answer.json["homes"] == list(par(GAMES["corners"], seed).homes)


async def par_of(server: LoggedServer, seed: str) -> Answer:
    """The par of a deal of Corners, as soon as the computer has played it."""
    async with asyncio.timeout(60):
        while True:
            answer = request(server, "GET", f"/api/v1/deals/corners:{seed}/par")
            if answer.status != 202:
                return answer
            await asyncio.sleep(0.05)


def paths(routes: Iterable[BaseRoute]) -> set[str]:
    return {route.path for route in routes if isinstance(route, Mount | Route | WebSocketRoute)}


async def test_verification_does_not_help_to_guess_a_running_race(server: LoggedServer) -> None:
    """What anybody knows of the race, closed with a guess: the answer depends on nothing but what was handed in."""
    async with scene(server, "corners") as race, scene(server, "corners") as over:
        replay = json.loads(codec.encode(await finish(over), "json"))
        header = json.loads(codec.encode(race.header, "json"))
        for secret in ("00" * 32, race.header.commitment, race.header.salt * 2):
            guess = json.loads(json.dumps(replay))
            guess["header"] = header
            guess["entries"][-1][2]["secret"] = secret
            answer = request(server, "POST", "/api/v1/verify", json.dumps(guess).encode())
            assert found(answer.body, race.forbidden()) == []
            assert answer.status == 422 or answer.json["ok"] is False
            if answer.status == 200:
                failed = {fact["name"] for fact in answer.json["facts"] if not fact["holds"]}
                assert {"commitment", "deal", "chain", "standings"} <= failed


async def test_the_salt_of_a_race_makes_no_other_race_with_its_secret(server: LoggedServer) -> None:
    async with scene(server, "corners") as race:
        opening = {"game": "corners"}
        for more in ({"salt": race.header.salt}, {"race": race.race}, {"commitment": race.header.commitment}):
            answer = request(server, "POST", "/api/v1/races", json.dumps(opening | more).encode())
            assert answer.status == 400
            assert clean(answer, race)
        for seed in (race.header.salt, race.header.commitment, race.race):
            made = request(server, "POST", "/api/v1/races", json.dumps(opening | {"seed": seed}).encode()).json
            assert made["race"] != race.race
            assert made["header"]["salt"] != race.header.salt
            assert made["header"]["commitment"] != race.header.commitment
    salts = {commitments.secret(KEY, name, "00" * 16) for name in ("a", "b")} | {
        commitments.secret(KEY, "a", "01" * 16)
    }
    assert len(salts) == 3


# A daily deal, of which a race is over while others may still play it.


async def over(scene: Scene) -> None:
    """The two stop, and all hear that the race is over; it is among the results of the day."""
    for name in ("ada", "bo"):
        assert isinstance(await scene.lines[name].ask("resign"), m.View)
    for name, line in scene.lines.items():
        view = await line.ask("watch" if name == "eve" else "join", race=scene.race)
        assert isinstance(view, m.View)
        assert view.stage == "over"
    async with asyncio.timeout(10):
        while True:
            told = request(scene.server, "GET", f"/api/v1/daily/{scene.header.date}/{scene.header.game}").json
            if scene.race in [result["race"] for result in told["results"]]:
                return
            await asyncio.sleep(0.02)


def hushed(scene: Scene, name: str, packets: Iterable[bytes], form: codec.Form) -> bool:
    """Whether nothing of a daily deal is in what a viewer heard but the cards that the own moves have turned up."""
    hand = scene.hands.get(name)
    for packet in packets:
        assert found(packet, scene.forbidden(name)) == []
        message = codec.decode_from_server(packet, form)
        assert getattr(message, "deal", None) is None
        seen = hand.seen(hand.ply) if hand else set()
        if isinstance(message, m.Welcome):
            continue  # a token is any letters, now and then those of a card
        content = json.loads(codec.encode(message, "json"))
        assert cards(content) <= seen or (hand and isinstance(message, m.Problem) and message.detail in hand.said)
    return True


@pytest.mark.parametrize("game", ["corners", "gallery"])
async def test_nobody_learns_a_daily_deal_by_any_message_though_a_race_on_it_is_over(
    timed: TimedServer, game: str
) -> None:
    """Neither who has raced on it, nor who races or looks on at another race on it, nor a stranger."""
    timed.noon("2027-03-14")
    async with scene(timed, game, daily=True) as race, scene(timed, game, daily=True) as other:
        assert (race.secret, race.seed) == (other.secret, other.seed)
        await play(race, 10)
        await asyncio.sleep(0.3)  # until the last progress is told
        for name, line in race.lines.items():
            await line.ask("ping")
            check_heard(race, name, line, boards=False)
        await over(race)
        for about in (race, other):
            for asked in everything_asked(about):
                for line in race.lines.values():
                    if asked["t"] != "move":
                        await line.ask(**asked)
                for form in ("json", "msgpack"):
                    async with await Line.open(timed, "json" if form == "json" else "msgpack", "mallory") as stranger:
                        await stranger.ask(**asked)
                        assert hushed(about, "mallory", stranger.packets, stranger.form)
        await play(other, 3)
        for each in (race, other):
            for name, line in each.lines.items():
                assert hushed(each, name, line.packets, line.form)
        assert found(timed.log.encode(), race.forbidden()) == []
        timed.set_clock(race.header.reveals_at + 60_000)
        view = await race.lines["eve"].ask("watch", race=race.race)
    assert isinstance(view, m.View)
    assert view.deal == f"{game}:{race.seed}", "the test would have looked for something else"


async def test_nobody_learns_a_daily_deal_by_any_address_though_a_race_on_it_is_over(timed: TimedServer) -> None:
    timed.noon("2027-03-16")
    async with scene(timed, "corners", daily=True) as race:
        await play(race, 10)
        await over(race)
    targets = [aimed(path, end) for path, ends in everywhere(race).items() for end in ends]
    targets += [f"/api/v1/races/{race.race}/par{more}" for more in ("?seat=1", ".svg?seat=3")]
    targets += [f"/api/v1/replays/{race.race}{suffix.replace('#', '%23')}" for suffix in SUFFIXES]
    targets += [f"/api/v1/replays?before={race.race}", f"/api/v1/daily/2027-03-17/{race.header.game}"]
    guess = race.seed.replace(race.seed.partition(".")[0], "a-wrong-guess")
    for at in (race.header.day_ends_at - 600_000, race.header.reveals_at - 600_000):
        timed.set_clock(at)
        for target in (target.replace("{race}", race.race) for target in targets):
            for headers in HEADERS:
                said = {key: value.format(race=race.race, token=race.tokens["ada"]) for key, value in headers.items()}
                for method in ("GET", "HEAD"):
                    answer = request(timed, method, target, None, **said)
                    if race.seed in target:
                        wrong = request(timed, method, target.replace(race.seed, guess), None, **said)
                        assert answer.body.replace(race.seed.encode(), guess.encode()) == wrong.body, target
                    else:
                        assert clean(answer, race), target
                    assert not target.startswith(f"/api/v1/replays/{race.race}") or answer.status in (
                        403,
                        404,
                        406,
                        307,
                    )
        listed = request(timed, "GET", "/api/v1/replays").json["replays"]
        assert [replay["deal"] for replay in listed if replay["race"] == race.race] == [None]
        sealed = request(timed, "GET", f"/api/v1/replays/{race.race}.json", None, If_None_Match="*")
        assert (sealed.status, sealed.json["code"]) == (403, "replay-sealed")
    timed.set_clock(race.header.reveals_at + 60_000)
    revealed = [request(timed, "GET", target.replace("{race}", race.race)) for target in targets]
    told = [answer for answer in revealed if found(answer.body, race.forbidden())]
    assert len(told) > 5, "the test would have found nothing"
    assert all(fact.holds for fact in verify(await timed.replay(race.race)))


async def test_the_store_learns_the_secret_of_a_daily_deal_only_when_a_race_on_it_is_over(timed: TimedServer) -> None:
    timed.noon("2027-03-18")
    url = timed.store_url
    async with scene(timed, "gallery", daily=True) as race:
        await play(race, 3)
        secrets = [form for raw in (race.secret, KEY) for form in forms(raw)] + [race.seed.encode()]
        for place in (stored, written):
            assert found(place(url), secrets) == []
        await over(race)
        assert race.secret.hex().encode() in stored(url), "the test would have found nothing"
        assert found(stored(url), [*forms(KEY)]) == []


# Receipts, the store and the log.


async def test_a_receipt_cannot_be_used_to_guess_what_a_rival_did(server: LoggedServer) -> None:
    async with scene(server, "corners") as race:
        await play(race, 5)
        replay = await finish(race)
    keys = [b"", race.race.encode(), race.header.salt.encode(), bytes.fromhex(race.header.salt)]
    keys += [race.header.commitment.encode(), bytes.fromhex(race.header.commitment), bytes(32)]
    keys += [race.nonces["ada"], race.tokens["ada"].encode()]
    checked = 0
    for before, entry in zip(replay.entries, replay.entries[1:], strict=False):
        text = entry_bytes(entry.n, entry.at, entry.event)
        assert hmac.digest(race.secret, before.h.encode() + b"|" + text, "sha256").hex() == entry.h
        for chained in (
            before.h.encode() + b"|" + text,
            before.h.encode() + text,
            bytes.fromhex(before.h) + text,
            text,
        ):
            assert sha256(chained).hexdigest() != entry.h
            assert entry.h not in [hmac.digest(key, chained, "sha256").hex() for key in keys]
        checked += 1
    assert checked > 15


def stored(store_url: str) -> bytes:
    """Everything in the store: all keys with all that they hold."""
    read: dict[bytes, Any] = {
        b"string": lambda redis, key: redis.get(key),
        b"hash": lambda redis, key: redis.hgetall(key),
        b"list": lambda redis, key: redis.lrange(key, 0, -1),
        b"set": lambda redis, key: redis.smembers(key),
        b"zset": lambda redis, key: redis.zrange(key, 0, -1, withscores=True),
        b"stream": lambda redis, key: redis.xrange(key),
    }
    with Redis.from_url(store_url) as redis:
        kept = [
            (key, read[kind](redis, key))
            for key in redis.scan_iter(count=1000)
            if (kind := redis.type(key)) != b"none"  # gone since it was listed
        ]
    return b"\n".join(leaf for leaf in _leaves(kept))


def _leaves(content: Any) -> Iterator[bytes]:
    if isinstance(content, dict):
        content = list(content.items())
    if isinstance(content, list | tuple | set):
        for value in content:
            yield from _leaves(value)
    else:
        yield content if isinstance(content, bytes) else str(content).encode()


def written(store_url: str) -> bytes:
    """Everything that the store has put on the disk."""
    with Redis.from_url(store_url, decode_responses=True) as redis:
        settings: dict[str, str] = redis.config_get("dir", "appenddirname")
    files = Path(settings["dir"]).rglob("*")
    return b"".join(file.read_bytes() for file in files if file.is_file())


async def test_no_secret_is_in_the_store_or_on_its_disk_while_the_race_runs(
    server: LoggedServer, store_url: str
) -> None:
    async with scene(server, "corners") as race:
        await play(race, 5)
        secrets = [form for raw in (race.secret, KEY, PRIVATE_KEY) for form in forms(raw)]
        secrets += forms(bytes.fromhex(race.seed.partition(".")[0]))
        secrets += [race.seed.encode(), *(token.encode() for token in race.tokens.values())]
        for place in (stored, written):
            data = place(store_url)
            assert race.race.encode() in data
            assert b'"move":"' in data
            assert found(data, secrets) == []
        await finish(race)
        for place in (stored, written):
            data = place(store_url)
            assert race.secret.hex().encode() in data, "the test would have found nothing"
            never = [*forms(KEY), *forms(PRIVATE_KEY), *(token.encode() for token in race.tokens.values())]
            assert found(data, never) == []


async def test_no_secret_is_in_the_servers_log(server: LoggedServer) -> None:
    async with scene(server, "corners") as race:
        await play(race, 5)
        await race.lines["ada"].send(b'{"t":"hello","id":1,"token":"' + race.tokens["ada"].encode() + b'","x":1}')
        async with await Line.open(server) as line:
            await line.ask("hello", token=race.tokens["bo"] + "x")
        await finish(race)
        log = server.log
    lines = [json.loads(line) for line in log.splitlines()]
    told = {line["message"].partition(": ")[2] for line in lines if line.get("race") == race.race}
    assert told >= {"joined", "readied", "counting", "nonce", "dealt", "moved", "resigned", "closed"}
    for line in lines:
        if line.get("seat"):
            assert re.fullmatch("[0-9a-f]{16}", line["connection"])
            assert line["race"]
    assert found(log.encode(), race.forbidden()) == []
    assert server.failures() == []

"""Requests that try to obtain a race's secrets, and the contents of its store."""

import json
import re
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import permutations
from pathlib import Path
from typing import Any

from redis import Redis
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute

from samedeal import codec, commitments
from samedeal.games.catalogue import GAMES
from samedeal.wire.documents import GameDescription
from support.logged_server import Answer, Line, request
from support.sealed_race import CARD, SealedRace, found, reveals_nothing

FORMS: tuple[codec.Form, ...] = ("json", "msgpack")


def all_requests(race: SealedRace) -> list[dict[str, Any]]:
    """Return every kind of request about a race, and some unknown ones."""
    nonce, promise = race.nonces["ada"].hex(), commitments.nonce_commitment(race.race_id, race.nonces["ada"])
    return [
        {"t": "hello", "token": race.tokens["ada"]},
        {"t": "hello", "name": "ada"},
        {"t": "join", "race": race.race_id},
        {"t": "join", "race": race.race_id, "commitment": promise},
        {"t": "join", "race": race.race_id, "commitment": race.header.commitment, "bot": True},
        {"t": "watch", "race": race.race_id},
        {"t": "watch", "race": f"{race.race_id}.json"},
        {"t": "watch", "race": f"replay:{{{race.race_id}}}"},
        {"t": "ready"},
        {"t": "ready", "ready": False},
        {"t": "nonce", "nonce": "0f" * 32},
        {"t": "nonce", "nonce": nonce},
        {"t": "move", "move": "draw", "ply": 0},
        {"t": "move", "move": "undo", "ply": 1},
        {"t": "leave"},
        {"t": "react", "reaction": "wave"},
        {"t": "ping"},
        {"t": "watch", "race": race.race_id, "seat": 1},
        {"t": "watch", "race": race.race_id, "views": "changes"},
        {"t": "join", "race": race.race_id, "commitment": promise, "views": "changes"},
        {"t": "view", "race": race.race_id},
        {"t": "replay", "race": race.race_id},
    ]


SUFFIXES = [
    *("", ".json", ".msgpack", ".JSON", ".Json", ".MSGPACK", ".ndjson", ".txt", ".cast", ".svg", ".bin", ".", ".."),
    *(".json.", "%2ejson", "%2Emsgpack", ".j%73on", "%252ejson", ".json%00", "%00", "%00.json", "%0a", ".json%0d%0a"),
    *("%20", "%2f", "/", ".json/", "/.json", "/../{race}.json", ";.json", ";x=.json", ".json;x", "?x=1"),
    *(".json?form=msgpack", "#.json", ".json.msgpack", ".msgpack.json", ":log", "}:log", "*", "?stage=over"),
    *("/entries", "/log", "/replay"),
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


def clean(answer: Answer, race: SealedRace) -> bool:
    """Assert that a response contains no card, secret, nonce or token."""
    content = answer.body + json.dumps(answer.headers).encode()
    assert found(content, race.forbidden()) == []
    if not answer.body.startswith(b"\x89PNG"):  # compressed; test_sharing.py compares it with the same card as SVG
        body = answer.body
        for description in map(GameDescription.of, GAMES.values()):
            for fixed in (
                description.example,
                description.film,
                description.practice,
            ):  # of fixed deals, the same for every race
                body = body.replace(codec.encode(fixed, "json"), b"")
        assert CARD.findall(body.decode("latin-1")) == []
    return True


def told(race: SealedRace, target: str, method: str = "GET", **headers: str) -> Answer:
    """Ask, and assert that the answer reveals nothing of a race, not even whether a guess of its deal is right.

    `headers` are as in HEADERS. Return the answer without what differs each time.
    """
    headers, root = fill_headers(headers, race), race.seed.partition(".")[0]
    answer = _lasting(request(race.server, method, target, None, **headers))
    if race.seed not in target:
        assert clean(answer, race), target
    else:
        guess = sha256(root.encode()).hexdigest()
        other = _lasting(request(race.server, method, target.replace(root, guess), None, **headers))
        assert answer == other._replace(body=other.body.replace(guess.encode(), root.encode())), target
    return answer


def _lasting(answer: Answer) -> Answer:
    """Return an answer without its date, its number, the time left in the race and how many watch it."""
    headers = {
        name: value for name, value in answer.headers.items() if name not in ("content-length", "date", "x-request-id")
    }
    return Answer(answer.status, headers, re.sub(rb',?"(clock_ms|time|watching)":\d+', b"", answer.body))


def check_replay_is_sealed(race: SealedRace, *methods: str) -> None:
    """Assert that no form of a race's replay is available, in whatever way a client asks."""
    for suffix in SUFFIXES:
        target = f"/api/v1/replays/{race.race_id}{suffix.replace('{race}', race.race_id).replace('#', '%23')}"
        for headers in HEADERS:
            for method in methods:
                answer = told(race, target, method, **headers)
                assert answer.status in (403, 404, 406, 307), target
                assert "etag" not in answer.headers, target


async def ask_everything(race: SealedRace, lines: Iterable[Line]) -> None:
    """Let connections and strangers make every request about a race. Strangers must learn nothing."""
    for fields in all_requests(race):
        for line in lines:
            if fields["t"] != "move":
                await line.ask(**fields)
        for form in FORMS:
            async with await Line.open(race.server, form, "mallory") as stranger:
                await stranger.ask(**fields)
                assert reveals_nothing(race, "mallory", stranger.packets, form)


def url_suffixes(race: SealedRace) -> dict[str, list[str]]:
    """Return every path of the server, with suffixes or parameters that concern a race."""
    code = f"{race.header.game}:{race.seed}"
    challenge = race.header.heat.challenge if race.header.heat else race.race_id
    return {
        "/api/v1/challenges": ["", f"?game={race.header.game}", f"?challenge={challenge}"],
        "/api/v1/challenges/{challenge}": [challenge, f"{challenge}?skip=1&limit=1", race.race_id, code],
        "/api/v1/challenges/{challenge}/log": [challenge, race.race_id],
        "/api/v1/challenges/{challenge}/nonce": [challenge],
        "/api/v1/challenges/{challenge}/qr.svg": [challenge, race.race_id],
        "/c/{challenge}": [challenge, race.race_id],
        "/api/v1/clubs": ["", f"?race={race.race_id}"],
        "/api/v1/clubs/{club}": [challenge, race.race_id],
        "/api/v1/clubs/{club}/preview": [challenge],
        "/api/v1/clubs/{club}/invitation": [challenge],
        "/api/v1/clubs/{club}/members": [challenge],
        "/api/v1/clubs/{club}/members/{player}": [f"{challenge}/members/{race.players['ada']}"],
        "/api/v1/clubs/{club}/scores": [challenge, race.race_id],
        "/api/v1/clubs/{club}/history": [challenge],
        "/api/v1/clubs/{club}/log": [challenge, race.race_id],
        "/g/{club}": [race.race_id, code],
        "/api/v1/games": [""],
        "/api/v1/games/{game}": [race.header.game, code, race.race_id],
        "/api/v1/races": ["", "?stage=running", "?game=corners", "?limit=100", "?seed=7", "?unlisted=true"],
        "/api/v1/races/{race}": [race.race_id, f"{race.race_id}?seat=1", f"{race.race_id}.json", code],
        "/api/v1/races/{race}/evening": [race.race_id, code],
        "/api/v1/races/{race}/card.svg": [race.race_id, f"{race.race_id}.json", code],
        "/api/v1/races/{race}/card.png": [race.race_id, code],
        "/api/v1/races/{race}/card.txt": [race.race_id, code, race.race_id.upper()],
        "/api/v1/races/{race}/qr.svg": [race.race_id, code],
        "/api/v1/races/{race}/par": [race.race_id, code, race.race_id.upper()],
        "/api/v1/races/{race}/par.svg": [race.race_id, code],
        "/api/v1/races/{race}/analysis": [race.race_id, code, race.race_id.upper()],
        "/api/v1/solutions/{replay}": [race.race_id, f"{race.race_id}.json", f"{race.race_id}.msgpack", code],
        "/api/v1/solutions/{race}/steps": [race.race_id, code],
        "/api/v1/daily": ["", "?date=2027-03-14"],
        "/api/v1/daily/{date}/{game}": [
            f"{race.header.date}/{race.header.game}",
            f"2027-03-14/{code}",
            "2027-03-15/corners",
        ],
        "/api/v1/players/{player}": [*race.players.values(), f"{race.players['ada']}?limit=100", race.race_id],
        "/api/v1/players/{player}/versus/{other}": [
            f"{race.players[player]}/versus/{race.players[other]}" for player, other in permutations(race.players, 2)
        ],
        "/api/v1/replays": ["", "?game=corners", f"?deal={code}", "?player=ada", f"?race={race.race_id}"],
        "/api/v1/replays/{replay}": [race.race_id, code],
        "/api/v1/reports": ["", f"?race={race.race_id}"],
        "/api/v1/verify": [""],
        "/.well-known/samedeal": ["", f"?race={race.race_id}"],
        "/healthz": ["", f"?race={race.race_id}"],
        "/metrics": ["", f"?race={race.race_id}", f"?name[]={race.race_id}"],
        "/readyz": [""],
        "/openapi.json": ["", f"?race={race.race_id}"],
        "/asyncapi.json": [""],
        "/docs": ["", f"?race={race.race_id}"],
        "/problems/{problem}": ["internal", race.race_id],
        "/api/v1/replays/{race}/steps": [race.race_id, code],
        "/r/{race}": [race.race_id, code, f"{race.race_id}/log"],
        "/w/{race}": [race.race_id, code],
        "/o/{race}": [race.race_id, code, f"{race.race_id}?theme=plain"],
        "/replay/{race}": [race.race_id, code],
        "/solution/{race}": [race.race_id, code],
        "/practice/{deal:path}": [code, f"{code}?refill=waste", race.race_id],
        "/p/{player}": [*race.players.values(), race.race_id],
        "/rules/{game}": ["corners", code],
        "/login": ["", f"?race={race.race_id}"],
        "/api/v1/guests": ["", f"?race={race.race_id}"],
        "/api/v1/guests/pass": [""],
        "/api/v1/guests/login": [""],
        "/api/v1/guests/logout": [""],
        "/rules": ["", f"?race={race.race_id}"],
        "/daily": ["", f"?race={race.race_id}"],
        "/daily/{date}": ["2027-03-14", code],
        "/fairness": [""],
        "/verify": ["", f"?race={race.race_id}", f"/{race.race_id}"],
        "/page": ["/main.js", f"/{race.race_id}", "/verify/proof.mjs", f"/verify/{race.race_id}"],
        "/sw.js": ["", f"?race={race.race_id}"],
        "/": [""],
    }


def all_targets(race: SealedRace) -> list[str]:
    """Return every address of ``url_suffixes``."""
    return [target_url(path, end) for path, ends in url_suffixes(race).items() for end in ends]


def target_url(path: str, suffix: str) -> str:
    """Replace the parameters of a path, or append to a path without parameters."""
    return re.sub(r"\{.*\}", lambda _: suffix, path) if "{" in path else path + suffix


def paths(routes: Iterable[BaseRoute]) -> set[str]:
    return {route.path for route in routes if isinstance(route, Mount | Route | WebSocketRoute)}


def stored(store_url: str) -> bytes:
    """Return the content of all keys in the store."""
    read: dict[bytes, Any] = {
        b"string": lambda redis, key: redis.get(key),
        b"hash": lambda redis, key: redis.hgetall(key),
        b"list": lambda redis, key: redis.lrange(key, 0, -1),
        b"set": lambda redis, key: redis.smembers(key),
        b"zset": lambda redis, key: redis.zrange(key, 0, -1, withscores=True),
        b"stream": lambda redis, key: redis.xrange(key),
    }
    with Redis.from_url(store_url) as redis:
        contents = [
            (key, read[kind](redis, key))
            for key in redis.scan_iter(count=1000)
            if (kind := redis.type(key)) != b"none"  # deleted since the scan
        ]
    return b"\n".join(leaf for leaf in _leaves(contents))


def _leaves(content: Any) -> Iterator[bytes]:
    if isinstance(content, dict):
        content = list(content.items())
    if isinstance(content, list | tuple | set):
        for value in content:
            yield from _leaves(value)
    else:
        yield content if isinstance(content, bytes) else str(content).encode()


def written(store_url: str) -> bytes:
    """Return the content of all files of the store."""
    with Redis.from_url(store_url, decode_responses=True) as redis:
        settings: dict[str, str] = redis.config_get("dir", "appenddirname")
    files = Path(settings["dir"]).rglob("*")
    return b"".join(file.read_bytes() for file in files if file.is_file())


def fill_headers(headers: dict[str, str], race: SealedRace) -> dict[str, str]:
    """Insert the race's ID and ada's token into headers of HEADERS."""
    return {name: value.format(race=race.race_id, token=race.tokens["ada"]) for name, value in headers.items()}

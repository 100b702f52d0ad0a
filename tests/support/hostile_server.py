"""A server that puts control characters into all its replies, to test that clients sanitise them."""

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from socketserver import BaseRequestHandler, ThreadingTCPServer
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
import pytest
import uvicorn
from msgspec import Struct, convert, structs
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from samedeal import codec
from samedeal.computer.par import Compared
from samedeal.race.standings import Standing
from samedeal.replays.signature import public_key
from samedeal.scores.club_scores import ClubScores, ClubTable, RatingRow
from samedeal.scores.results import RaceResult, RacerResult
from samedeal.scores.tallies import Personal, Versus
from samedeal.wire import decoding
from samedeal.wire import messages as m
from samedeal.wire.documents import (
    ChallengePage,
    ClubPage,
    Daily,
    GameDescription,
    Listed,
    ListedClub,
    OpenedRace,
    RacePar,
    RaceSummary,
)
from support import finished_races, scripted_server

EVIL = "evil\x1b]0;x\x07\x1b[2J\x9b31m\x85\u202e\u2066\u200b\x7f\t\r\n!"
"""An escape sequence, C1 controls, bidirectional and invisible characters, and a forged line."""
PILE = EVIL.translate(dict.fromkeys(map(ord, "\t\r\n\x85")))
"""The same without whitespace."""
GAME = "new-game"
"""A game that is unknown to the client."""
RACE = scripted_server.RACE
CHALLENGE = "brave-otter-4217"
Answers = Literal["documents", "problems", "redirects", "hangs up"]
"""The kinds of replies: valid documents, refusals, redirects, or a close reason during a race."""


def evil(kind: Any, **fields: object) -> Any:
    """Return JSON of a type: a document with these fields, EVIL for every other text, and one item in each list."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Annotated, Union, UnionType):
        return evil(arguments[0])
    if origin is Literal or kind is str:
        return EVIL
    if isinstance(origin, type):
        items = [evil(argument) for argument in arguments if argument is not ...]
        return {items[0]: items[1]} if issubclass(origin, Mapping) else items
    if issubclass(kind, Struct):
        return {each.encode_name: fields.get(each.name, evil(each.type)) for each in structs.fields(kind)}
    return kind(1)


HEADER = structs.replace(
    scripted_server.HEADER, game=GAME, rules=EVIL, variant={"evil": EVIL}, seed="a\x9b\u202e", commitment="1" * 64
)
PROBLEM = {"type": EVIL, "title": EVIL, "status": 409, "code": EVIL, "detail": EVIL}
STANDING = Standing(
    place=1, seat=1, name=EVIL, bot=False, outcome=EVIL, done=True, home=1, goal=4, progress=0.25, attempts=1, ms=1
)
PICTURES: dict[str, object] = {"practice": None, "example": {}, "film": []}
LAYOUT: dict[str, object] = {"layout": f"l1 {PILE}\nl2", "foundations": [], "labels": {"l1": EVIL, EVIL: EVIL}}
GAME_INFO = evil(GameDescription, slug=GAME, goal=4, limit_ms=60_000, **LAYOUT, **PICTURES)
CHALLENGE_HEADER = {
    "challenge": CHALLENGE,
    "creator": EVIL,
    "deals": [{"game": GAME, "rules": EVIL, "options": {"limit_ms": 60_000}}],
    "commitment": "1" * 64,
    "salt": "1" * 32,
    "opened_at": 0,
    "until": 0,
}
OPENED_CHALLENGE = {"challenge": CHALLENGE, "link": f"http://127.0.0.1:1/c/{EVIL}", "header": CHALLENGE_HEADER}
OPEN = evil(Listed, stage="open")
CHALLENGE_PAGE = evil(ChallengePage, **OPENED_CHALLENGE, stage="open", heats=[OPEN], counts=[None], next=None)
PLAYER, CLUB = "0123456789abcdef", "calm-fox-1"
LINKS = {"link": f"http://127.0.0.1:1/g/{EVIL}", "invitation": f"http://127.0.0.1:1/g/{EVIL}#{EVIL}"}
MEMBERS = {"members": [{"player": PLAYER, "name": EVIL}], "names": {EVIL: EVIL, PLAYER: EVIL}}
CLUB_PAGE = evil(ClubPage, club=CLUB, races=[OPEN], **LINKS, **MEMBERS)
CLUB_SCORES = evil(
    ClubScores, tables=[evil(ClubTable, period="day")], ratings={"corners": [evil(RatingRow, strength=1.5)]}
)
DAILY = evil(Daily, game=GAME, next=None, yours=None)
RACERS = [evil(RacerResult), evil(RacerResult, player=PLAYER)]
CHANGE = {"command": EVIL, "subject": EVIL, "reason": EVIL, "until": 0, "tokens": 1}
REPORTED = {"player": EVIL, "name": EVIL}
REPORT = {"id": EVIL, "at": 0, "race": EVIL, "about": REPORTED, "by": REPORTED, "reason": EVIL, "text": EVIL}
ERASED = {"player": EVIL, "withdrawn": 1, "unreadable": 1}
DOCUMENTS: dict[str, object] = {
    f"/api/v1/players/{PLAYER}": {"scores": evil(Personal), "races": [evil(RaceResult, racers=RACERS)]},
    f"/api/v1/players/{PLAYER}/versus/{PLAYER}": evil(Versus),
    "/api/v1/games": {"games": [GAME_INFO], EVIL: EVIL},
    f"/api/v1/games/{GAME}": GAME_INFO,
    "/api/v1/races": {"races": [evil(Listed)], "next": None, EVIL: EVIL},
    "/api/v1/replays": {"replays": [evil(RaceSummary)], "next": None},
    "/api/v1/admin/races": {
        "races": [{"race": EVIL, "game": EVIL, "stage": EVIL, "players": [REPORTED | {"seat": 1, "bot": False}]}],
        "next": EVIL,
    },
    "/api/v1/admin/bans": {"bans": [{"subject": EVIL, "until": 0, "reason": EVIL}]},
    "/api/v1/admin/log": {"entries": [{"at": 0, "by": EVIL, **CHANGE}]},
    "/api/v1/admin/reports": {"reports": [REPORT]},
    "/api/v1/admin/erased": {"players": [EVIL]},
    f"/api/v1/races/{RACE}": m.View(
        race=EVIL,
        n=1,
        h="0" * 64,
        stage="open",
        standings=(structs.replace(STANDING, name="ada"), structs.replace(STANDING, seat=2)),
    ),
    "/api/v1/daily": {"daily": [DAILY]},
    f"/api/v1/daily/2026-11-21/{GAME}": DAILY,
    f"/api/v1/races/{RACE}/par": evil(
        RacePar, deal=f"{GAME}:{EVIL}", racers=[evil(Compared, squares=["worse", "equal"])]
    ),
    f"/api/v1/challenges/{CHALLENGE}": CHALLENGE_PAGE,
    "/api/v1/clubs": {"clubs": [evil(ListedClub, club=CLUB)]},
    f"/api/v1/clubs/{CLUB}": CLUB_PAGE,
    f"/api/v1/clubs/{CLUB}/scores": CLUB_SCORES,
    "/.well-known/samedeal": {
        "server": EVIL,
        "time": 0,
        "keys": [{"key": EVIL}, {"key": public_key(finished_races.SIGNING_KEY)}],
    },
}


def replay() -> bytes:
    """Return a valid replay of racers with hostile names, on a deal that is solved at once, as MessagePack."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(finished_races, "NAMES", (EVIL, f"{EVIL}2", f"{EVIL}3"))
        return codec.encode(finished_races.finished("the-edge"), "msgpack")


class Hostile:
    """The server. `answers` may change at any time."""

    def __init__(self) -> None:
        self.url = ""
        self.answers: Answers = "documents"
        self.replay = replay()
        self.app = Starlette(
            routes=[
                WebSocketRoute("/ws", self._socket),
                WebSocketRoute("/ws/{race}", self._socket),
                Route("/{path:path}", self._http, methods=["GET", "POST", "PUT", "PATCH", "DELETE"]),
            ]
        )

    async def _http(self, request: Request) -> Response:
        path = request.url.path
        if self.answers == "problems":
            return _json(PROBLEM, 409)
        if self.answers == "redirects":
            return Response(status_code=302, headers={"Location": "http://127.0.0.1:1/evil\x9b"})
        if path.endswith(".msgpack"):
            return Response(self.replay)
        if path.endswith("/logout"):
            return _json(PROBLEM, 409)
        if "/guests/" in path:
            return _json({"code": EVIL, "link": EVIL, "player": EVIL, "name": EVIL, "token": EVIL})
        if path.endswith("/api/v1/reports"):
            return _json({"name": EVIL})
        if request.method == "POST" and "/admin/" in path:
            return _json(CHANGE | REPORT | ERASED)
        if path.endswith("/challenges"):
            return _json(OPENED_CHALLENGE, 201)
        if request.method != "GET" and "/clubs" in path:
            return Response(status_code=204) if request.method == "DELETE" else _json(CLUB_PAGE)
        if request.method == "PUT":
            return _json(CHALLENGE_PAGE | await request.json())
        if request.method == "POST":
            opened = OpenedRace(race=RACE, link=f"http://127.0.0.1:1/r/{EVIL}", header=HEADER)
            return _json(opened, 201)
        return _json(DOCUMENTS[path]) if path in DOCUMENTS else PlainTextResponse(EVIL)

    async def _socket(self, socket: WebSocket) -> None:
        await socket.accept(subprotocol="samedeal.v1.msgpack")
        with suppress(WebSocketDisconnect):
            hello = await _hear(socket)
            if self.answers in ("problems", "redirects"):
                return await _say(socket, convert({"t": "problem", "re": hello, **PROBLEM}, m.Problem))
            await _say(socket, m.Welcome(re=hello, player=EVIL, name=EVIL, token=EVIL, server=EVIL))
            entry = await _hear(socket)
            board = m.Board(
                table={"l1": ("AS", "6H"), "l2": (), PILE: ("??",)},
                notes={EVIL: EVIL},
                outcome=EVIL,
                home=0,
                attempt=1,
                ply=0,
                moves=(EVIL,),
            )
            view = m.View(
                race=RACE,
                n=1,
                h="0" * 64,
                stage="running",
                seat=1,
                board=board,
                boards={2: board},
                clock_ms=60_000,
                standings=(structs.replace(STANDING, done=False, outcome="playing"), structs.replace(STANDING, seat=2)),
                deal=f"{GAME}:{EVIL}",
            )
            await _say(socket, structs.replace(view, re=entry, header=HEADER))
            await _say(socket, m.Progress(race=RACE, n=2, standings=view.standings))
            with suppress(TimeoutError):
                number = await _hear(socket)
                await _say(socket, convert({"t": "problem", "re": number, **PROBLEM}, m.Problem))
            if self.answers == "hangs up":
                return await socket.close(1009, EVIL)
            await _say(socket, structs.replace(view, n=3, stage="over", standings=(STANDING,)))
            return await socket.close()
        return None


async def _hear(socket: WebSocket) -> int:
    """Return the number of the next message."""
    number = decoding.number(await socket.receive_bytes(), "msgpack")
    assert number is not None
    return number


async def _say(socket: WebSocket, message: m.FromServer) -> None:
    await socket.send_bytes(codec.encode(message, "msgpack"))


def _json(document: object, status: int = 200) -> Response:
    return Response(msgspec.json.encode(document), status, media_type="application/json")


@contextmanager
def hostile() -> Iterator[Hostile]:
    """Run the server on a free port in a thread."""
    running = Hostile()
    serving = uvicorn.Server(uvicorn.Config(running.app, "127.0.0.1", 0, log_config=None, ws="websockets-sansio"))
    thread = threading.Thread(target=serving.run)
    thread.start()
    while not serving.started:
        assert thread.is_alive()
        time.sleep(0.01)
    running.url = f"http://127.0.0.1:{serving.servers[0].sockets[0].getsockname()[1]}"
    yield running
    serving.should_exit = True
    thread.join()


@contextmanager
def raw(answer: bytes) -> Iterator[str]:
    """Run a server that sends the same bytes on every connection. Yield its address."""

    class Handler(BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(65_536)
            with suppress(OSError):
                self.request.sendall(answer)

    with ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()

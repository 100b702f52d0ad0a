"""A server that puts control characters into all its replies, to test that clients sanitise them."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from socketserver import BaseRequestHandler, ThreadingTCPServer
from typing import Literal

import msgspec
import pytest
import uvicorn
from msgspec import convert, structs
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from samedeal import codec
from samedeal.race.standings import Standing
from samedeal.replays.signature import public_key
from samedeal.wire import decoding
from samedeal.wire import messages as m
from samedeal.wire.documents import GameDescription, Opened, RaceSummary
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

HEADER = structs.replace(
    scripted_server.HEADER, game=GAME, rules=EVIL, variant={"evil": EVIL}, seed="a\x9b\u202e", commitment="1" * 64
)
PROBLEM = {"type": EVIL, "title": EVIL, "status": 409, "code": EVIL, "detail": EVIL}
STANDING = Standing(
    place=1, seat=1, name=EVIL, bot=False, outcome=EVIL, done=True, home=1, goal=4, progress=0.25, attempts=1, ms=1
)
GAME_INFO = GameDescription(
    slug=GAME,
    title=EVIL,
    rules=EVIL,
    layout=f"l1 {PILE}\nl2",
    goal=4,
    limit_ms=60_000,
    fanned=(EVIL,),
    foundations=(),
    labels={"l1": EVIL, EVIL: EVIL},
    hidden=(EVIL,),
    options={EVIL: (EVIL, True)},
)
PAR = {
    "game": EVIL,
    "deal": f"{GAME}:{EVIL}",
    "variant": {EVIL: EVIL},
    "bot": EVIL,
    "plays": 1,
    "goal": 4,
    "counted": EVIL,
    "homes": [0],
    "results": [0],
    "minimum": 0,
    "median": 0.5,
    "mean": 0.5,
    "maximum": 1,
    "solved": 0,
    "race": EVIL,
    "racers": [
        {"seat": 1, "name": EVIL, "home": 1, "won": False, "result": 1, "worse": 0.5, "equal": 0.25, "better": 0.25}
        | {"squares": ["worse", "equal"]}
    ],
}
DAILY = {
    "game": GAME,
    "date": EVIL,
    "commitment": EVIL,
    "stage": EVIL,
    "reveals_at": 0,
    "deal": EVIL,
    "secret": EVIL,
    "results": [
        {"place": 1, "name": EVIL, "bot": False, "outcome": EVIL, "home": 1, "goal": 4, "ms": 5, "race": EVIL},
    ],
    "players": 1,
    "next": None,
}
CHALLENGE_HEADER = {
    "challenge": CHALLENGE,
    "creator": EVIL,
    "deals": [{"game": GAME, "rules": EVIL, "options": {"limit_ms": 60_000}}],
    "commitment": "1" * 64,
    "salt": "1" * 32,
    "opened_at": 0,
    "until": 0,
}
DEAL_RESULT = {"place": 1, "points": 1.0, "outcome": EVIL, "home": 1, "goal": 4, "ms": 5, "race": EVIL}
OPENED_CHALLENGE = {"challenge": CHALLENGE, "link": f"http://127.0.0.1:1/c/{EVIL}", "header": CHALLENGE_HEADER}
FIELD_ROW = {"place": 1, "player": EVIL, "name": EVIL, "bot": False, "points": 1.0, "solved": 1, "ms": 5}
RACE_LINE = {"race": EVIL, "game": EVIL, "stage": EVIL, "racers": 1, "max_racers": 8, "opened_at": 0} | {
    "sealed": True,
    "daily": False,
}
CHALLENGE_PAGE = OPENED_CHALLENGE | {
    "by": EVIL,
    "nonce": EVIL,
    "stage": "open",
    "reveals_at": 0,
    "names": [EVIL],
    "players": 1,
    "played": [1],
    "heats": [RACE_LINE | {"stage": "open", "host": EVIL}],
    "counts": [None],
    "yours": [DEAL_RESULT],
    "results": [FIELD_ROW | {"deals": [DEAL_RESULT]}],
    "next": None,
    "secret": EVIL,
    "codes": [EVIL],
}
CLUB = "calm-fox-1"
CLUB_PAGE = {
    "club": CLUB,
    "link": f"http://127.0.0.1:1/g/{EVIL}",
    "name": EVIL,
    "is_member": True,
    "dissolved": True,
    "invitation": f"http://127.0.0.1:1/g/{EVIL}#{EVIL}",
    "races": [RACE_LINE | {"stage": "open", "host": EVIL}],
    "challenges": [
        {"challenge": EVIL, "by": EVIL, "games": [EVIL, EVIL], "until": 0, "names": [EVIL], "played": False}
    ],
}
CLUB_SCORES = {
    "club": EVIL,
    "n": 1,
    "rated": 1,
    "tables": [
        {"period": "day", "since": 0} | {"rows": [{"place": 1, "player": EVIL, "points": 1.0, "races": 1, "wins": 1}]}
    ],
    "ratings": {"corners": [{"player": EVIL, "strength": 1.5, "races": 1}]},
}
REPLAY_LINE = RaceSummary(race=EVIL, game=EVIL, deal=EVIL, ended_at=0, standings=(STANDING,))
PLAYER = "0123456789abcdef"
CLUB_PAGE |= {"members": [{"player": PLAYER, "name": EVIL}], "names": {EVIL: EVIL, PLAYER: EVIL}}
GAME_SCORES = {"game": EVIL, "races": 1, "wins": 1, "solved": 1, "best_ms": 1, "best": 1, "goal": 4, "counted": EVIL}
PERSONAL = {"player": EVIL, "name": EVIL, "bot": True, "races": 1, "wins": 1, "solved": 1, "streak": 1} | {
    "longest_streak": 1,
    "games": [GAME_SCORES],
}
RACER = {"player": EVIL, "name": EVIL, "bot": False, "place": 1, "won": False, "home": 1, "goal": 4, "ms": 1}
RESULT = {"race": EVIL, "game": EVIL, "opened_at": 0, "ended_at": 0, "daily": False, "unlisted": False} | {
    "follows": EVIL,
    "racers": [RACER, RACER | {"player": PLAYER}],
}
RECORD = {"races": 3, "ahead": 1, "behind": 1, "tied": 1}
PERSON = {"seat": 1, "player": EVIL, "name": EVIL, "bot": False}
CHANGE = {"command": EVIL, "subject": EVIL, "reason": EVIL, "until": 0, "tokens": 1}
PERSON_REPORTED = {"player": EVIL, "name": EVIL}
REPORT = {"id": EVIL, "at": 0, "race": EVIL, "about": PERSON_REPORTED, "by": PERSON_REPORTED, "reason": EVIL} | {
    "text": EVIL
}
ERASED = {"player": EVIL, "withdrawn": 1, "unreadable": 1}
DOCUMENTS: dict[str, object] = {
    f"/api/v1/players/{PLAYER}": {"scores": PERSONAL, "races": [RESULT]},
    f"/api/v1/players/{PLAYER}/versus/{PLAYER}": {"player": EVIL, "name": EVIL, "other": EVIL, "other_name": EVIL}
    | RECORD
    | {"games": [RECORD | {"game": EVIL}]},
    "/api/v1/games": {"games": [GAME_INFO], EVIL: EVIL},
    f"/api/v1/games/{GAME}": GAME_INFO,
    "/api/v1/races": {"races": [RACE_LINE], "next": None, EVIL: EVIL},
    "/api/v1/replays": {"replays": [REPLAY_LINE], "next": None},
    "/api/v1/admin/races": {"races": [{"race": EVIL, "game": EVIL, "stage": EVIL, "players": [PERSON]}], "next": EVIL},
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
    f"/api/v1/races/{RACE}/par": PAR,
    f"/api/v1/challenges/{CHALLENGE}": CHALLENGE_PAGE,
    "/api/v1/clubs": {"clubs": [{"club": CLUB, "name": EVIL, "members": 1}]},
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
            opened = Opened(race=RACE, link=f"http://127.0.0.1:1/r/{EVIL}", header=HEADER)
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

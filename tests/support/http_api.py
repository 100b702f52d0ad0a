"""Helpers for tests of the HTTP API: a server, finished races and problem responses."""

import asyncio
import json
from typing import Any

from samedeal import codec
from samedeal.errors import CODES
from samedeal.replays.replay import Replay
from samedeal.wire import messages as m
from support.logged_server import Answer, Line, LoggedServer, request

MSGPACK, NDJSON = "application/vnd.msgpack", "application/x-ndjson"
FORMS = ("json", "msgpack", "ndjson")
UNKNOWN = "calm-otter-42"


async def finish_race(
    server: LoggedServer, game: str = "corners", seed: str | None = None, **options: Any
) -> tuple[str, str]:
    """Race alone for one move, and return the race's ID and the racer's public ID."""
    created = create(server, game=game, seed=seed or "1", options={"max_racers": 1, "start_delay_ms": 0, **options})
    race_id: str = created.json["race"]
    async with await Line.open(server) as line:
        welcome = await line.ask("hello", name="ada")
        assert isinstance(welcome, m.Welcome)
        await line.ask("join", race=race_id)
        await line.ask("ready")
        view = await line.ask("join", race=race_id)
        assert isinstance(view, m.View)
        assert view.board
        assert view.board.moves
        await line.ask("move", move=view.board.moves[0], ply=0)
        assert isinstance(await line.ask("resign"), m.View)
    await server.replay(race_id)
    while not options.get("unlisted"):  # listed a moment after the replay is available
        if request(server, "GET", f"/api/v1/replays?player={welcome.player}").json["replays"]:
            break
        await asyncio.sleep(0.01)
    return race_id, welcome.player


async def race_of_two(server: LoggedServer, lines: dict[str, Line], **options: Any) -> str:
    """Let two guests resign a race, and return its id once it is archived."""
    race_id: str = create(server, game="corners", seed="1", options={"start_delay_ms": 0, **options}).json["race"]
    for line in lines.values():
        assert isinstance(await line.ask("join", race=race_id), m.View)
    views = [await line.ask("ready") for line in lines.values()]
    for view, line in zip(views, lines.values(), strict=True):
        while not (isinstance(view, m.View) and view.stage == "running"):
            view = await line.hear()
    for line in lines.values():
        assert isinstance(await line.ask("resign"), m.View)
    await server.replay(race_id)
    return race_id


def create(server: LoggedServer, **body: Any) -> Answer:
    return request(server, "POST", "/api/v1/races", json.dumps(body).encode())


def problem(answer: Answer, code: str, text: str = "") -> bool:
    """Assert that an answer is the problem with a code, and that its detail contains a text."""
    status, title = CODES[code]
    assert answer.headers["content-type"] == "application/problem+json"
    if answer.body:
        assert answer.json == {
            "type": f"/problems/{code}",
            "title": title,
            "status": status,
            "code": code,
            "detail": answer.json["detail"],
        }
        assert text in answer.json["detail"]
    assert answer.status == status
    return True


def chunked(length: int) -> bytes:
    return f"{length:x}\r\n".encode() + b" " * length + b"\r\n0\r\n\r\n"


def encode_replay(replay: Replay, form: str) -> bytes:
    if form == "ndjson":
        return b"".join(replay.lines())
    return codec.encode(replay, "json" if form == "json" else "msgpack")

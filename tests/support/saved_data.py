"""Data of every kind, as a version of the program writes it. At a release: ``python -m support.saved_data 1.0.0``.

This saves in ``saved/1.0.0``: the store of a server (``store.tar.gz``) and its backup (``backup.tar.gz``); the files of
a client and what it downloaded about its club (``client.tar.gz``); and what the server answered when it was started on
the store again: documents (``documents.json``), and two sessions with every byte that was sent (``session.json`` and
``session.msgpack``). The keys of the service are those of ``servers.Server``.
"""

import asyncio
import json
import subprocess
import sys
import tarfile
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

from samedeal import codec
from samedeal.commitments import nonce_commitment
from samedeal.race.events import RACE_FORMAT
from samedeal.wire import messages as m
from support.club_servers import members, take_part, token_of
from support.contests import bearer, connected, guest, open_contest, post, race_alone
from support.program import ran, without_settings
from support.servers import Server
from support.waiting import LIMIT_S

SAVED = Path(__file__).parents[1] / "saved"
VERSIONS = sorted(folder.name for folder in SAVED.glob("[0-9]*"))
"""The versions that have saved data."""
NONCE = bytes(32)
"""The nonce of the racers in sessions."""
ADMIN_KEY = "k" * 40
SETTINGS = {"admin_key": ADMIN_KEY, "public_url": "https://cards.example", "away_s": "600"}
RACES = "/api/v1/races?limit=100"
FORMS: tuple[codec.Form, ...] = ("json", "msgpack")
_CODECS: dict[codec.Form, Any] = {"json": msgspec.json, "msgpack": msgspec.msgpack}
Exchange = tuple[msgspec.Raw, list[msgspec.Raw]]
"""A request, and the messages of the server until it was answered and the race had the stage that follows."""


class SavedServer(Server):
    """A server on a copy of a store, at the time when the store was saved."""

    def __init__(self, saved: str, folder: Path, **settings: str) -> None:
        folder.mkdir(mode=0o700)
        subprocess.run(["tar", "-xzf", SAVED / saved / "store.tar.gz", "-C", folder], check=True)
        super().__init__(None, folder, **SETTINGS, **settings)
        self._env |= at_time_of(saved)


def at_time_of(version: str) -> dict[str, str]:
    """Return the environment of programs that run at the time when data was saved: since then, races have ended, and
    keys of the store have expired.
    """
    with tarfile.open(SAVED / version / "backup.tar.gz") as archive:
        manifest = archive.extractfile("manifest.json")
        assert manifest
        made_at = datetime.fromisoformat(json.load(manifest)["time"])
    asked = subprocess.run(["faketime", "2026-01-01", "printenv", "LD_PRELOAD"], capture_output=True, text=True)
    return {
        "LD_PRELOAD": asked.stdout.strip(),
        "FAKETIME": f"@{int(made_at.timestamp()) + 5}",  # when the server had stopped
        "FAKETIME_FMT": "%s",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }


class Session:
    """A connection that sends any bytes, and returns those that it receives."""

    def __init__(self, socket: ClientConnection, form: codec.Form) -> None:
        self._socket, self._form = socket, form

    async def exchange(self, request: bytes, stage: str | None = None) -> Exchange:
        """Send a request. Return it with all messages until its answer and, if any, a view in a stage of the race."""
        await self._socket.send(request.decode() if self._form == "json" else request)
        number, received, waits = read(request, self._form)["id"], list[msgspec.Raw](), {"re", "stage"}
        while waits - (set() if stage else {"stage"}):
            packet = await asyncio.wait_for(self._socket.recv(), LIMIT_S)
            received.append(msgspec.Raw(packet.encode() if isinstance(packet, str) else packet))
            message = read(received[-1], self._form)
            waits -= {"re"} if message.get("re") == number else set()
            waits -= {"stage"} if message.get("stage") == stage else set()
        return msgspec.Raw(request), received


@asynccontextmanager
async def session(server: Server, form: codec.Form) -> AsyncIterator[Session]:
    url = server.url.replace("http", "ws") + "/ws"
    async with connect(url, subprotocols=[Subprotocol(f"samedeal.v1.{form}")], compression=None) as socket:
        yield Session(socket, form)


def read(data: bytes | msgspec.Raw, form: codec.Form) -> dict[str, Any]:
    """Decode a message without its type."""
    decoded: dict[str, Any] = _CODECS[form].decode(data)
    return decoded


def recorded(version: str, form: codec.Form) -> list[Exchange]:
    """Return a saved session."""
    data = (SAVED / version / f"session.{form}").read_bytes()
    exchanges: list[Exchange] = _CODECS[form].decode(data, type=list[Exchange])
    return exchanges


def client_environment(folder: Path) -> dict[str, str]:
    """Return the environment of a client whose files are in a folder."""
    return without_settings() | {f"XDG_{kind}_HOME": f"{folder / kind.lower()}" for kind in ("CONFIG", "STATE", "DATA")}


def guest_in(folder: Path) -> tuple[str, str]:
    """Return the token and the public id of the client's only guest."""
    (file,) = folder.glob("state/samedeal/guests/*.json")
    stored = json.loads(file.read_bytes())
    return stored["token"], stored["player"]


def documents_of(server: Server, paths: Iterable[str], token: str) -> dict[str, bytes]:
    """Return what the server answers to a guest, or to an administrator."""
    answers = {path: server.get(path, **bearer(ADMIN_KEY if "/admin/" in path else token)) for path in paths}
    assert {status for status, _ in answers.values()} == {200}, answers
    return {path: body for path, (_, body) in answers.items()}


def _save(folder: Path) -> None:
    """Save the data of this version in a folder."""
    with TemporaryDirectory() as name:
        work = Path(name)
        client = client_environment(work / "client")
        with Server(None, work / "data", **SETTINGS) as server:
            used = asyncio.run(_use(server, client, work / "client"))
            ran("backup", folder / "backup.tar.gz", "--data-dir", work / "data", environment=without_settings())
        for archive, content in (("store", work / "data" / "appendonlydir"), ("client", work / "client")):
            packed = folder / f"{archive}.tar.gz"
            nobody = ("--owner=0", "--group=0", "--numeric-owner")
            subprocess.run(["tar", "-czf", packed, *nobody, "-C", content.parent, content.name], check=True)
        with server.start():
            documents = {path: msgspec.Raw(body) for path, body in documents_of(server, used.paths, used.token).items()}
            (folder / "documents.json").write_bytes(msgspec.json.encode(documents))
            for form, races in used.races.items():
                exchanges = asyncio.run(_record(server, form, used.token, *races))
                (folder / f"session.{form}").write_bytes(_CODECS[form].encode(exchanges))


class _Used(NamedTuple):
    """What can be asked of a server that has data of every kind."""

    token: str
    """Of a member of a club."""
    paths: list[str]
    """Of documents."""
    races: dict[codec.Form, tuple[str, str]]
    """For each session a race for several players, and one for one player; both are open."""


async def _use(server: Server, client: dict[str, str], folder: Path) -> _Used:
    """Leave data of every kind."""

    def do(path: str, body: object, token: str = ADMIN_KEY) -> Any:
        answer = post(server, path, body, token)
        assert answer.status in (200, 201), answer.body
        return answer.json

    async def race(tokens: Sequence[str], **opening: Any) -> str:
        opening["options"] = {"max_racers": len(tokens), "start_delay_ms": 0}
        race_id: str = do("/races", opening, tokens[0])["race"]
        await take_part(server, race_id, tokens)
        await server.replay(race_id) if "daily" not in opening else None
        return race_id

    ran("config", "set", "theme", "light", environment=client)
    ran("solo", "corners:1", "--as", "ada", "--server", server.url, typed="draw\nresign\n", environment=client)
    (receipts,) = folder.glob("state/samedeal/receipts/*.ndjson")
    solo = receipts.name.partition(".")[0]
    ran("export", solo, "-o", folder / "solo.json", "--server", server.url, environment=client)
    ada, ada_id = guest_in(folder)
    page, [(ben, ben_id), (cyd, _)] = members(server, "ben", "cyd")
    do(f"/clubs/{page.club}/members", {"invitation": token_of(page)}, ada)
    finished = [await race([ada, ben], game="golf", club=page.club) for _ in range(2)]
    await race([ada, ben, cyd], game="golf", daily=True)
    contest = open_contest(server, ["corners", "golf"], ada, club=page.club)
    await race_alone(server, contest, 1, ada, 2)
    running, waiting, hidden = (server.create("corners", token=ada, start_delay_ms=0) for _ in range(3))
    async with connected(server, ada) as racer, connected(server, cyd) as other:
        await other.join(waiting)
        await other.ask(m.React, reaction="wave")
        await racer.join(running)
        await racer.ask(m.Bot, level="beginner")
        await racer.ask(m.Ready)
        await racer.dealt()
        assert isinstance(await racer.move((racer.board.moves or [])[0]), m.View)
    withdrawn, eve_id = guest(server, "eve")
    await race([ada, withdrawn], game="golf")
    do("/reports", {"race": running, "seat": 1, "reason": "conduct"}, cyd)
    do("/admin/bans", {"subject": "mallory", "seconds": 86_400, "reason": "insults"})
    do(f"/admin/races/{hidden}/hide", {})
    do("/admin/erase", {"player": eve_id})
    ran("club", "verify", page.club, "--save", folder / "club", "--server", server.url, environment=client)
    paths = (
        *(f"/replays/{each}.json" for each in finished),
        *(f"/clubs/{page.club}{part}" for part in ("", "/scores", "/history", "/log", "/invitation")),
        *("/clubs", f"/challenges/{contest.id}", "/replays?limit=100", f"/races/{waiting}"),
        *("/daily", f"/players/{ada_id}", f"/players/{ada_id}/versus/{ben_id}"),
        *(f"/races/{finished[0]}/evening", "/admin/log", "/admin/bans", "/admin/reports", "/admin/erased"),
    )
    lobbies, solos = (
        [server.create("corners", token=ada, start_delay_ms=0, max_racers=racers) for _ in FORMS] for racers in (2, 1)
    )
    races = dict(zip(FORMS, zip(lobbies, solos, strict=True), strict=True))
    return _Used(ada, [RACES, *(f"/api/v1{path}" for path in paths)], races)


async def _record(server: Server, form: codec.Form, token: str, lobby: str, race: str) -> list[Exchange]:
    """Record a session: a lobby that is left again, and a race to its result."""
    async with session(server, form) as made:
        exchanges = list[Exchange]()

        async def ask(kind: Callable[..., m.Request], stage: str | None = None, **fields: Any) -> None:
            request = codec.encode(kind(id=len(exchanges) + 1, **fields), form)
            exchanges.append(await made.exchange(request, stage))

        await ask(m.Hello, token=token, client="samedeal", format=RACE_FORMAT, features=(m.GUIDANCE, m.REACTIONS))
        await ask(m.Join, race=lobby, commitment=nonce_commitment(lobby, NONCE))
        await ask(m.Bot, level="beginner")
        await ask(m.Remove, seat=2)
        await ask(m.Start)
        await ask(m.Leave)
        views = "full" if form == "json" else "changes"
        await ask(m.Join, race=race, commitment=nonce_commitment(race, NONCE), views=views)
        await ask(m.Ready, "countdown")
        await ask(m.Nonce, "running", nonce=NONCE.hex())
        await ask(m.Move, move="draw", ply=0)
        await ask(m.Move, move="l9", ply=1)
        await ask(m.React, reaction="wave")
        await ask(m.Ping)
        await ask(m.Resign, "over")
        await ask(m.Again)
        await ask(m.Watch, race=race)
        return exchanges


if __name__ == "__main__":
    (SAVED / sys.argv[1]).mkdir()
    _save(SAVED / sys.argv[1])

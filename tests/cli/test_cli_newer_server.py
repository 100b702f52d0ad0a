"""Newer servers: the client ignores what it does not know, or says which version it needs."""

from pathlib import Path
from typing import Any

import pytest
from msgspec import json, msgpack, to_builtins

from protocol.test_lenient import with_unknown_fields
from samedeal import codec
from samedeal.errors import Refused
from samedeal.replays.replay import FORMATS
from samedeal.wire import messages as m
from samedeal.wire.documents import OpenedRace
from samedeal_cli.failure import EXIT_CODES, Declined, Unreachable
from samedeal_cli.net.connection import Connection
from samedeal_cli.net.http_api import Api
from samedeal_cli.net.receipts import files, in_file
from samedeal_cli.settings import state_dir
from support.offline_cli import printed
from support.scripted_server import HEADER, RACE, Peer, server, view

pytestmark = pytest.mark.tier(2)

NEWER = with_unknown_fields(to_builtins(HEADER)) | {"teams": 2}


async def seated(peer: Peer, **fields: Any) -> None:
    """Answer Hello and Join. The given fields replace those of the view."""
    join = await peer.welcome()
    content = to_builtins(view()) | {"re": join.id, "header": to_builtins(HEADER)} | fields
    await peer.socket.send(msgpack.encode(content))


async def test_unknown_messages_and_fields_do_not_end_a_connection() -> None:
    async def script(peer: Peer) -> None:
        await peer.socket.send(msgpack.encode({"t": "notice", "text": "soon"}))
        await seated(peer, header=NEWER, mood="tense")
        move = await peer.hear()
        await peer.socket.send(msgpack.encode({"t": "chat", "text": "hello"}))
        await peer.socket.send(msgpack.encode(to_builtins(view(ply=1)) | {"re": move.id, "mood": "calm"}))
        await peer.hear()

    async with server(script) as (url, received), Connection(url, RACE, name="ada") as connection:
        assert connection.header == HEADER
        answer = await connection.move("draw")
        assert answer.board
        assert answer.board.ply == 1
    assert [type(message) for message in received[:3]] == [m.Hello, m.Join, m.Move]


async def test_receipts_preserve_unknown_header_fields(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    state = state_dir()
    state.mkdir(parents=True, exist_ok=True)

    async def script(peer: Peer) -> None:
        await seated(peer, header=NEWER)
        await peer.hear()

    async with server(script) as (url, _), Connection(url, RACE, name="ada", keep_in=state) as connection:
        with pytest.raises(Refused, match="newer version") as refused:
            assert connection.receipts
        assert refused.value.code == "unsupported-version"
    (file,) = (state / "receipts").glob("*.ndjson")
    first, *others = file.read_bytes().splitlines(keepends=True)
    assert first == codec.encode(["header", NEWER], "json") + b"\n"
    assert json.decode(others[0])[0] == "digest"
    assert files(RACE) == [file]
    with pytest.raises(Refused, match=RACE) as refused:
        in_file(file)
    assert refused.value.code == "unsupported-version"


async def test_unreadable_header_is_declined_by_its_rules() -> None:
    async def script(peer: Peer) -> None:
        await seated(peer, header={"race": RACE, "game": "corners", "rules": "corners/2", "seals": [1]})
        await peer.hear()

    async with server(script) as (url, _):
        with pytest.raises(Declined, match=rf"{RACE} uses corners/2, which this client \(samedeal ") as declined:
            async with Connection(url, RACE, name="ada"):
                pass
    assert (declined.value.code, declined.value.exit_code) == ("unsupported-version", 4)
    assert 4 in EXIT_CODES


async def test_refusal_says_which_version_is_needed() -> None:
    async def script(peer: Peer) -> None:
        join = await peer.welcome()
        await peer.say(m.Problem.of(Refused("unsupported-version", "This race needs race format 2."), join.id))

    async with server(script) as (url, _):
        with pytest.raises(Declined, match=r"needs race format 2$") as declined:
            async with Connection(url, RACE, name="ada"):
                pass
        assert declined.value.code == "unsupported-version"


def test_unknown_fields_of_http_responses_are_ignored() -> None:
    api = Api("http://127.0.0.1:1")
    content = {"race": RACE, "link": f"http://127.0.0.1:1/r/{RACE}", "header": NEWER, "mood": "calm"}
    assert api.read(json.encode(content), OpenedRace).header == HEADER
    content["header"] = NEWER | {"options": {"limit_ms": 60_000, "filter": "certified/1"}}
    assert str(api.read(json.encode(content), OpenedRace).header.options.filter) == "certified/1"
    for data in (b"", b"\xff", b'{"race":"\xff"}', b'{"race":1}', json.encode(content)[:-1]):
        with pytest.raises(Unreachable, match="not a valid Same Deal response"):
            api.read(data, OpenedRace)


@pytest.mark.parametrize("command", ["verify", "replay", "export"])
@pytest.mark.parametrize("form", ["json", "ndjson", "msgpack"])
def test_replay_in_a_newer_format_names_the_format(command: str, form: str, tmp_path: Path) -> None:
    saved = Path(__file__).parents[1] / "saved" / "replays-1" / f"sealed.{form}"
    file = tmp_path / f"race.{form}"
    file.write_bytes(saved.read_bytes().replace(b"samedeal.replay/1", b"samedeal.replay/5"))
    _, err = printed(command, str(file), code=5)
    assert f"in the format samedeal.replay/5; this version of samedeal reads {', '.join(FORMATS.values())}." in err

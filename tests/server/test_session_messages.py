"""Sessions reject malformed, unknown and oversized messages, and the connection stays usable where it can."""

from typing import Any

import pytest

from samedeal import codec
from samedeal.wire import messages as m
from support.logged_server import Line, LoggedServer
from support.sessions import alone, form, refused, server, viewed

__all__ = ["form", "server"]

MALFORMED: dict[codec.Form, list[bytes]] = {
    "json": [
        b"",
        b"hello",
        b"{",
        b'{"t":"ping","id":1}{}',
        b'{"t":"ping","id":NaN}',
        b"\xef\xbb\xbf{}",
        b'{"t":"ping","id":1,}',
        b'{"t":"hello","id":1,"name":"\\ud800"}',
    ],
    "msgpack": [
        b"",
        b"\xc1",
        b"\x82\xa1t\xa4ping\xa2id",
        b"\x82\xa1t\xa4ping\xa2id\x01\x00",
        b"\xdf\xff\xff\xff\xff",
        b"\xdb\xff\xff\xff\xff",
        b"\x82\xa2id\x01\xa1t\xa3\xed\xa0\x80",
    ],
}


@pytest.mark.parametrize("name", [None, "ada"])
async def test_malformed_bytes_close_the_connection(server: LoggedServer, form: codec.Form, name: str | None) -> None:
    for data in MALFORMED[form]:
        async with await Line.open(server, form, name) as line:
            await line.send(data)
            assert refused(await line.answer(None), "malformed", f"not a valid {form} message")
            assert await line.close_code() == 4001


def deep(levels: int) -> list[Any]:
    nested: list[Any] = []
    for _ in range(levels):
        nested = [nested]
    return nested


RACE, HEX = "calm-otter-42", "0f" * 32
NOT_OURS: list[tuple[object, str, int | None]] = [
    # the message, what the problem names, and the id that it answers
    ([], "Expected `object`", None),
    (5, "Expected `object`", None),
    ({"id": 8}, "`t`", 8),
    ({"t": "deal", "id": 8}, "$.t", 8),
    ({"t": "view", "id": 8}, "$.t", 8),
    ({"t": "ping"}, "`id`", None),
    ({"t": "ping", "id": "8"}, "$.id", None),
    ({"t": "ping", "id": -1}, "$.id", None),
    ({"t": "ping", "id": 2**53}, "$.id", None),
    ({"t": "ping", "id": 8, "seat": 2}, "`seat`", 8),
    ({"t": "ping", "id": 8, "nested": deep(200)}, "`nested`", 8),
    ({"t": "hello", "id": 8, "name": 5}, "$.name", 8),
    ({"t": "hello", "id": 8, "name": "x" * 65}, "$.name", 8),
    ({"t": "hello", "id": 8, "token": ""}, "$.token", 8),
    ({"t": "hello", "id": 8, "name": "ada", "client": "x" * 65}, "$.client", 8),
    ({"t": "hello", "id": 8, "name": "ada", "player": "0123456789abcdef"}, "`player`", 8),
    ({"t": "join", "id": 8}, "`race`", 8),
    ({"t": "join", "id": 8, "race": ""}, "$.race", 8),
    ({"t": "join", "id": 8, "race": "x" * 65}, "$.race", 8),
    ({"t": "join", "id": 8, "race": RACE, "commitment": "0F" * 32}, "$.commitment", 8),
    ({"t": "join", "id": 8, "race": RACE, "bot": 1}, "$.bot", 8),
    ({"t": "watch", "id": 8, "race": [RACE]}, "$.race", 8),
    ({"t": "ready", "id": 8, "ready": "yes"}, "$.ready", 8),
    ({"t": "nonce", "id": 8, "nonce": "0f"}, "$.nonce", 8),
    ({"t": "move", "id": 8, "move": "draw"}, "`ply`", 8),
    ({"t": "move", "id": 8, "ply": 0}, "`move`", 8),
    ({"t": "move", "id": 8, "move": "", "ply": 0}, "$.move", 8),
    ({"t": "move", "id": 8, "move": "draw\n", "ply": 0}, "$.move", 8),
    ({"t": "move", "id": 8, "move": "x" * 65, "ply": 0}, "$.move", 8),
    ({"t": "move", "id": 8, "move": "draw", "ply": -1}, "$.ply", 8),
    ({"t": "move", "id": 8, "move": "draw", "ply": 2**31 + 1}, "$.ply", 8),
    ({"t": "move", "id": 8, "move": "draw", "ply": 0, "seat": 2}, "`seat`", 8),
]


async def test_unknown_and_invalid_messages_are_refused_and_play_continues(
    server: LoggedServer, form: codec.Form
) -> None:
    async with await Line.open(server, form, "ada") as line:
        before = await alone(line, server)
        for content, named, number in NOT_OURS:
            await line.send(line.written(content))
            answer = await line.answer(number)
            assert refused(answer, "bad-message", named), content
        after = viewed(await line.ask("move", move="draw", ply=0))
        assert after.n == before.n + 1


async def test_deeply_nested_messages_are_refused_and_play_continues(server: LoggedServer, form: codec.Form) -> None:
    deepest = {
        "json": b'{"t":"ping","nested":' + b"[" * 2_000 + b"]" * 2_000 + b',"id":8}',
        "msgpack": b"\x83\xa1t\xa4ping\xa6nested" + b"\x91" * 4_000 + b"\x90\xa2id\x08",
    }
    async with await Line.open(server, form, "ada") as line:
        view = await alone(line, server)
        await line.send(deepest[form])
        while not isinstance(answer := await line.hear(), m.Problem):  # with the id or, if it was not decoded, without
            pass
        assert refused(answer, "bad-message", "`nested`")
        assert viewed(await line.ask("move", move="draw", ply=0)).n == view.n + 1


async def test_oversized_messages_are_refused_and_play_continues(server: LoggedServer, form: codec.Form) -> None:
    async with await Line.open(server, form, "ada") as line:
        view = await alone(line, server)
        for length in (4_097, 60_000):
            long = line.written({"t": "move", "id": 8, "ply": 0, "move": ""})
            await line.send(line.written({"t": "move", "id": 8, "ply": 0, "move": "x" * (length - len(long))}))
            assert refused(await line.answer(8), "too-large", "4096")
        await line.send(b"x" * 60_000)
        assert refused(await line.answer(None), "too-large", "4096")
        longest = {"t": "ping", "id": 8, "x": ""}
        await line.send(line.written(longest | {"x": "x" * (4_090 - len(line.written(longest)))}))
        assert refused(await line.answer(8), "bad-message", "`x`")
        assert viewed(await line.ask("move", move="draw", ply=0)).n == view.n + 1


async def test_msgpack_in_a_text_frame_closes_the_connection(server: LoggedServer) -> None:
    for text in ('{"t":"ping","id":1}', "5", ""):
        async with await Line.open(server, "msgpack", "ada") as line:
            await line.socket.send(text)
            assert refused(await line.answer(None), "malformed", "samedeal.v1.json")
            assert await line.close_code() == 4001


async def test_json_in_a_binary_frame_is_answered_as_text(server: LoggedServer) -> None:
    async with await Line.open(server, "json", "ada") as line:
        await line.socket.send(b'{"t":"ping","id":99}')
        assert await line.socket.recv() == '{"re":99,"t":"pong"}'


async def test_invalid_utf8_closes_the_connection(server: LoggedServer) -> None:
    async with await Line.open(server, "json", "ada") as line:
        await line.socket.send(b'{"t":"ping","id":"\xff"}', text=True)
        assert await line.close_code() == 1007

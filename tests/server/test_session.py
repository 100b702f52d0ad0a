"""Whatever a client says over the socket, it is answered as it deserves, harms nobody, and play goes on."""

import asyncio
import http.client
import inspect
import socket
import subprocess
from collections.abc import Iterator
from contextlib import AsyncExitStack
from hashlib import sha256
from typing import Any

import pytest
from uvicorn.protocols.http import httptools_impl
from uvicorn.protocols.websockets import websockets_sansio_impl
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Subprotocol

from samedeal.proof import commitments
from samedeal.wire import codec
from samedeal.wire import messages as m
from samedeal_server.__main__ import CLIENTS_FAULTS
from support.logged_server import Line, LoggedServer, written
from support.servers import Racer

FORMS: tuple[codec.Form, ...] = ("json", "msgpack")
NONCE = "5c" * 32


@pytest.fixture(scope="module")
def server(store_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoggedServer]:
    log = tmp_path_factory.mktemp("session") / "log"
    with LoggedServer(
        store_url, log, away_seconds="0.3", hello_timeout_ms="20000", connections_per_address="0"
    ).start() as running:
        yield running


@pytest.fixture(scope="module")
def strict(store_url: str, server: LoggedServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoggedServer]:
    """A server that is quick to lose its patience, over the same store."""
    log = tmp_path_factory.mktemp("strict") / "log"
    limits = {
        "away_seconds": "0.3",
        "hello_timeout_ms": "1000",
        "rate": "100",
        "burst": "20",
        "connections_per_address": "3",
    }
    with LoggedServer(store_url, log, emptied=False, public_url="https://Race.Example", **limits).start() as running:
        yield running


@pytest.fixture(autouse=True)
def _nothing_fails(request: pytest.FixtureRequest) -> Iterator[None]:
    """After each test, the servers that it used have seen no failure of their own."""
    yield
    for name in ("server", "strict"):
        if name in request.fixturenames:
            assert request.getfixturevalue(name).failures() == []


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest) -> codec.Form:
    form: codec.Form = request.param
    return form


def refused(answer: m.FromServer, code: str, text: str = "") -> bool:
    """Whether it is a problem of that code whose detail holds a text."""
    assert isinstance(answer, m.Problem), answer
    assert answer.type == f"/problems/{answer.code}"
    assert answer.code == code, answer
    assert text in answer.detail
    return True


def viewed(answer: m.FromServer) -> m.View:
    assert isinstance(answer, m.View), answer
    return answer


def boarded(answer: m.FromServer) -> m.Board:
    board = viewed(answer).board
    assert board
    return board


async def alone(line: Line, server: LoggedServer, game: str = "corners", **options: Any) -> m.View:
    """A running race for one at an open deal."""
    race = server.create(game, seed="1", max_racers=1, start_delay_ms=0, **options)
    await line.ask("join", race=race)
    await line.ask("ready")
    return viewed(await line.ask("join", race=race))


# Bytes and messages.

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
async def test_bytes_that_are_no_message_end_the_connection(
    server: LoggedServer, form: codec.Form, name: str | None
) -> None:
    for data in MALFORMED[form]:
        async with await Line.open(server, form, name) as line:
            await line.send(data)
            assert refused(await line.answer(None), "malformed", f"no message in {form}")
            assert await line.close_code() == 4001


def deep(levels: int) -> list[Any]:
    nested: list[Any] = []
    for _ in range(levels):
        nested = [nested]
    return nested


RACE, HEX = "calm-otter-42", "0f" * 32
NOT_OURS: list[tuple[object, str, int | None]] = [
    # what is said, what its problem names, and the number that it answers
    (None, "Expected `object`", None),
    ([], "Expected `object`", None),
    ([[[[]]]], "Expected `object`", None),
    (5, "Expected `object`", None),
    ("hello", "Expected `object`", None),
    ({}, "`t`", None),
    ({"id": 8}, "`t`", 8),
    ({"t": "deal", "id": 8}, "$.t", 8),
    ({"t": "MOVE", "id": 8}, "$.t", 8),
    ({"t": 5, "id": 8}, "$.t", 8),
    ({"t": None, "id": 8}, "$.t", 8),
    ({"t": "view", "id": 8}, "$.t", 8),
    ({"t": "ping"}, "`id`", None),
    ({"t": "ping", "id": None}, "$.id", None),
    ({"t": "ping", "id": "8"}, "$.id", None),
    ({"t": "ping", "id": 8.5}, "$.id", None),
    ({"t": "ping", "id": True}, "$.id", None),
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
    ({"t": "join", "id": 8, "race": RACE, "commitment": HEX + "\n"}, "$.commitment", 8),
    ({"t": "join", "id": 8, "race": RACE, "commitment": HEX + "0"}, "$.commitment", 8),
    ({"t": "join", "id": 8, "race": RACE, "bot": 1}, "$.bot", 8),
    ({"t": "join", "id": 8, "race": RACE, "seat": 1}, "`seat`", 8),
    ({"t": "watch", "id": 8, "race": [RACE]}, "$.race", 8),
    ({"t": "ready", "id": 8, "ready": "yes"}, "$.ready", 8),
    ({"t": "ready", "id": 8, "seat": 1}, "`seat`", 8),
    ({"t": "nonce", "id": 8, "nonce": "0f"}, "$.nonce", 8),
    ({"t": "move", "id": 8, "move": "draw"}, "`ply`", 8),
    ({"t": "move", "id": 8, "ply": 0}, "`move`", 8),
    ({"t": "move", "id": 8, "move": "", "ply": 0}, "$.move", 8),
    ({"t": "move", "id": 8, "move": "d raw", "ply": 0}, "$.move", 8),
    ({"t": "move", "id": 8, "move": "draw\n", "ply": 0}, "$.move", 8),
    ({"t": "move", "id": 8, "move": "dräw", "ply": 0}, "$.move", 8),
    ({"t": "move", "id": 8, "move": "x" * 65, "ply": 0}, "$.move", 8),
    ({"t": "move", "id": 8, "move": ["draw"], "ply": 0}, "$.move", 8),
    ({"t": "move", "id": 8, "move": "draw", "ply": -1}, "$.ply", 8),
    ({"t": "move", "id": 8, "move": "draw", "ply": 2**31 + 1}, "$.ply", 8),
    ({"t": "move", "id": 8, "move": "draw", "ply": 0, "seat": 2}, "`seat`", 8),
    ({"t": "resign", "id": 8, "player": "bo"}, "`player`", 8),
    ({"t": "leave", "id": 8, "race": RACE}, "`race`", 8),
]


async def test_a_message_that_is_not_of_the_protocol_is_refused_by_name_and_play_goes_on(
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


async def test_a_message_however_deep_is_refused_and_play_goes_on(server: LoggedServer, form: codec.Form) -> None:
    deepest = {
        "json": b'{"t":"ping","nested":' + b"[" * 2_000 + b"]" * 2_000 + b',"id":8}',
        "msgpack": b"\x83\xa1t\xa4ping\xa6nested" + b"\x91" * 4_000 + b"\x90\xa2id\x08",
    }
    async with await Line.open(server, form, "ada") as line:
        view = await alone(line, server)
        await line.send(deepest[form])
        assert refused(await line.answer(None), "bad-message", "`nested`")
        assert viewed(await line.ask("move", move="draw", ply=0)).n == view.n + 1


async def test_a_message_that_is_too_long_is_refused_and_play_goes_on(server: LoggedServer, form: codec.Form) -> None:
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


async def test_an_endless_message_ends_the_connection(server: LoggedServer, form: codec.Form) -> None:
    async with await Line.open(server, form, "ada") as line:
        await line.send(b"x" * 65_537)
        assert await line.close_code() == 1009


async def test_messagepack_is_not_taken_from_a_text_frame(server: LoggedServer) -> None:
    for text in ('{"t":"ping","id":1}', "5", ""):
        async with await Line.open(server, "msgpack", "ada") as line:
            await line.socket.send(text)
            assert refused(await line.answer(None), "malformed", "samedeal.v1.json")
            assert await line.close_code() == 4001


async def test_json_is_taken_from_a_binary_frame_and_answered_as_text(server: LoggedServer) -> None:
    async with await Line.open(server, "json", "ada") as line:
        await line.socket.send(b'{"t":"ping","id":99}')
        assert await line.socket.recv() == '{"re":99,"t":"pong"}'


async def test_text_that_is_no_text_ends_the_connection(server: LoggedServer) -> None:
    async with await Line.open(server, "json", "ada") as line:
        await line.socket.send(b'{"t":"ping","id":"\xff"}', text=True)
        assert await line.close_code() == 1007


# Hello.


async def test_a_connection_that_does_not_say_hello_is_closed(strict: LoggedServer, form: codec.Form) -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    async with await Line.open(strict, form) as line:
        assert await line.close_code() == 4001
    assert loop.time() - began > 0.9


async def test_nothing_but_hello_counts_as_hello(strict: LoggedServer, form: codec.Form) -> None:
    async with await Line.open(strict, form) as line:
        assert isinstance(await line.ask("ping"), m.Pong)
        assert refused(await line.ask("hello"), "bad-message", "a name or a token")
        assert refused(await line.ask("hello", name="\u202eada"), "bad-message", "U+202E")
        assert await line.close_code() == 4001


async def test_hello_in_time_is_enough(strict: LoggedServer) -> None:
    async with await Line.open(strict, "json", "ada") as line:
        await asyncio.sleep(1.2)  # longer than a hello may take
        assert isinstance(await line.ask("ping"), m.Pong)


async def test_hello_is_said_once(server: LoggedServer, form: codec.Form) -> None:
    async with await Line.open(server, form) as line:
        welcome = await line.ask("hello", name="ada")
        assert isinstance(welcome, m.Welcome)
        assert refused(await line.ask("hello", name="bo"), "bad-message", "once")
        assert refused(await line.ask("hello", token=welcome.token), "bad-message", "once")
        assert viewed(await alone(line, server)).standings[0].name == "ada"


async def test_nobody_is_anybody_by_a_wrong_token(server: LoggedServer, form: codec.Form) -> None:
    async with await Line.open(server, form) as line:
        welcome = await line.ask("hello", name="ada")
    assert isinstance(welcome, m.Welcome)
    assert welcome.token
    digest = sha256(welcome.token.encode()).hexdigest()
    wrong = ["sd_", welcome.player, "ada", digest, f"guest:{digest}", welcome.token[:-1], welcome.token.swapcase()]
    for token in [*wrong, f" {welcome.token}", f"{welcome.token}\n", "*", "\0", "ü" * 128]:
        async with await Line.open(server, form) as line:
            assert refused(await line.ask("hello", token=token, name="ada"), "bad-token")
            assert await line.close_code() == 4003
    async with await Line.open(server, form) as line:
        again = await line.ask("hello", token=welcome.token)
        assert isinstance(again, m.Welcome)
        assert (again.player, again.name, again.token) == (welcome.player, "ada", None)


async def test_a_program_may_show_its_token_in_the_handshake(server: LoggedServer, form: codec.Form) -> None:
    async with await Line.open(server, form) as line:
        welcome = await line.ask("hello", name="ada")
    assert isinstance(welcome, m.Welcome)
    async with await Line.open(server, form, additional_headers={"Authorization": f"Bearer {welcome.token}"}) as line:
        again = await line.ask("hello")
        assert isinstance(again, m.Welcome)
        assert (again.player, again.token) == (welcome.player, None)
    async with await Line.open(server, form, additional_headers={"Authorization": "Bearer sd_nobody"}) as line:
        assert refused(await line.ask("hello"), "bad-token")
        assert await line.close_code() == 4003


@pytest.mark.parametrize(
    "asked",
    [
        {"t": "join", "race": RACE},
        {"t": "watch", "race": RACE},
        {"t": "ready"},
        {"t": "nonce", "nonce": HEX},
        {"t": "move", "move": "draw", "ply": 0},
        {"t": "resign"},
        {"t": "leave"},
    ],
)
async def test_nothing_is_done_before_hello(server: LoggedServer, asked: dict[str, Any]) -> None:
    async with await Line.open(server) as line:
        assert refused(await line.ask(**asked), "bad-token", "hello")
        assert await line.close_code() == 4003


HOSTILE_NAMES = [
    "",
    " ",
    "x" * 25,
    "ada\n",
    "ada\x00",
    "\x1b[31mada",
    "ada\u202ebo",
    "a\u200bda",
    "\u2066ada",
    "ada\ufeff",
    "\ue000",
    "a\u00adda",
    "a" + "\u0301" * 4,
    "\u2028",
    "\U000e0041",
    "\u061cada",
]


async def test_a_name_that_deceives_is_refused(server: LoggedServer, form: codec.Form) -> None:
    async with await Line.open(server, form) as line:
        for name in HOSTILE_NAMES:
            answer = await line.ask("hello", name=name)
            assert refused(answer, "bad-message", "name"), name
        welcome = await line.ask("hello", name=" Zoë O’Neil 王 ")
        assert isinstance(welcome, m.Welcome)
        assert welcome.name == "Zoë O’Neil 王"


# Races and seats.


async def test_a_race_that_is_not_there_is_not_found(server: LoggedServer, form: codec.Form) -> None:
    names = ["calm-otter-42", "../races", "CALM-OTTER", "race:{x}:log", "*", "\0", "a b", "é", "..", "%2e", "x" * 64]
    async with await Line.open(server, form, "ada") as line:
        view = await alone(line, server)
        for name in names:
            for asked in ("join", "watch"):
                assert refused(await line.ask(asked, race=name), "not-found", "no such race")
        assert viewed(await line.ask("move", move="draw", ply=0)).n == view.n + 1


async def test_nobody_acts_without_a_seat(server: LoggedServer, form: codec.Form) -> None:
    requests: list[dict[str, Any]] = [
        {"t": "ready"},
        {"t": "ready", "ready": False},
        {"t": "nonce", "nonce": HEX},
        {"t": "move", "move": "draw", "ply": 0},
        {"t": "resign"},
        {"t": "leave"},
    ]
    async with await Line.open(server, form, "ada") as ada, await Line.open(server, form, "bo") as bo:
        view = await alone(ada, server)
        for asked in requests:
            assert refused(await bo.ask(**asked), "not-seated")
        assert viewed(await bo.ask("watch", race=view.race)).seat is None
        for asked in requests:
            assert refused(await bo.ask(**asked), "not-seated")
        assert viewed(await ada.ask("move", move="draw", ply=0)).n == view.n + 1


async def test_every_request_has_its_stage(server: LoggedServer, form: codec.Form) -> None:
    """From the open race over the countdown to its end: what is out of place is refused and changes nothing."""
    race = server.create("corners", max_racers=2, start_delay_ms=400)
    promise = commitments.nonce_commitment(race, bytes.fromhex(NONCE))
    async with await Line.open(server, form, "ada") as ada, await Line.open(server, form, "bo") as bo:
        assert refused(await ada.ask("join", race=race), "nonce-mismatch")
        n = viewed(await ada.ask("join", race=race, commitment=promise)).n
        assert refused(await ada.ask("move", move="draw", ply=0), "untimely")
        assert refused(await ada.ask("resign"), "untimely")
        assert refused(await ada.ask("nonce", nonce=NONCE), "untimely")
        assert viewed(await ada.ask("ready")).n == n + 1
        assert viewed(await ada.ask("ready")).n == n + 1
        assert viewed(await ada.ask("ready", ready=False)).n == n + 2
        assert viewed(await ada.ask("ready", ready=False)).n == n + 2
        assert viewed(await ada.ask("ready")).n == n + 3
        await bo.ask("join", race=race, commitment=promise)
        counting = viewed(await bo.ask("ready"))
        assert counting.stage == "countdown"
        assert refused(await ada.ask("ready", ready=False), "untimely")
        assert refused(await ada.ask("leave"), "untimely")
        assert refused(await ada.ask("move", move="draw", ply=0), "untimely")
        assert refused(await ada.ask("nonce", nonce=HEX), "nonce-mismatch")
        opened = viewed(await ada.ask("nonce", nonce=NONCE)).n
        assert opened == counting.n + 1
        assert viewed(await ada.ask("nonce", nonce=NONCE)).n == opened
        assert refused(await ada.ask("nonce", nonce=HEX), "untimely")
        while viewed(message := await ada.hear()).stage == "countdown":
            pass
        assert viewed(message).stage == "running"
        assert refused(await bo.ask("move", move="draw", ply=0), "not-playing", "scratched")
        assert refused(await bo.ask("nonce", nonce=NONCE), "untimely")
        assert refused(await ada.ask("leave"), "untimely")
        assert refused(await ada.ask("nonce", nonce=HEX), "untimely")
        n = viewed(await ada.ask("join", race=race)).n
        over = viewed(await ada.ask("resign"))
        assert (over.stage, over.n) == ("over", n + 2)
        assert viewed(await ada.ask("resign")).n == over.n
        assert refused(await ada.ask("move", move="draw", ply=0), "race-over")
        assert refused(await ada.ask("ready", ready=False), "race-over")
        assert refused(await ada.ask("leave"), "race-over")
        assert refused(await bo.ask("resign"), "race-over")
        assert viewed(await bo.ask("join", race=race)).n == over.n
    async with await Line.open(server, form, "cy") as cy:
        assert refused(await cy.ask("join", race=race, commitment=promise), "race-over")
        assert viewed(await cy.ask("watch", race=race)).n == over.n


async def test_an_illegal_move_is_refused_in_the_words_of_the_game_and_changes_nothing(
    server: LoggedServer, form: codec.Form
) -> None:
    async with await Line.open(server, form, "ada") as line:
        view = await alone(line, server)
        board = boarded(view)
        assert board.moves is not None
        for move, words in [
            ("redeal", "You can redeal only when the stock is empty."),
            ("w", "That place is empty."),
            ("undo", "There is nothing to undo"),
            ("restart", "There is nothing to restart"),
            ("Draw", ""),
            ("draw,draw", ""),
            ("__class__", ""),
            ("%s", ""),
            ("\x7e" * 64, ""),
        ]:
            assert refused(await line.ask("move", move=move, ply=0), "illegal-move", words)
        again = viewed(await line.ask("join", race=view.race))
        assert (again.n, again.h, again.board) == (view.n, view.h, view.board)


async def test_a_move_is_made_once_however_often_it_is_sent(server: LoggedServer, form: codec.Form) -> None:
    async with await Line.open(server, form, "ada") as line:
        view = await alone(line, server)
        sent = line.written({"t": "move", "id": 8, "move": "draw", "ply": 0})
        answers = []
        for _ in range(3):
            await line.send(sent)
            answers.append(viewed(await line.answer(8)))
        assert [(answer.n, answer.board) for answer in answers] == [(view.n + 1, answers[0].board)] * 3
        for _ in range(20):  # all at once
            await line.send(line.written({"t": "move", "id": 9, "move": "draw", "ply": 1}))
        assert [viewed(await line.answer(9)).n for _ in range(20)] == [view.n + 2] * 20
        assert refused(await line.ask("move", move="undo", ply=1), "stale-move")
        assert refused(await line.ask("move", move="draw", ply=3), "stale-move")
        assert refused(await line.ask("move", move="draw", ply=2**31), "stale-move")
        last = viewed(await line.ask("move", move="draw", ply=0))
        assert (last.n, boarded(last).ply) == (view.n + 2, 2)
        await line.ask("resign")
    replay = await server.replay(view.race)
    assert [entry.event.move for entry in replay.entries if hasattr(entry.event, "move")] == ["draw", "draw"]


async def test_a_race_may_forbid_undo_and_a_second_attempt(server: LoggedServer, form: codec.Form) -> None:
    async with await Line.open(server, form, "ada") as line:
        for options in ({"undo": False}, {"attempts": 1}):
            moves = boarded(await alone(line, server, "corner-stones", **options)).moves
            assert moves
            board = boarded(await line.ask("move", move=moves[0], ply=0))
            forbidden = "undo" if "undo" in options else "restart"
            assert getattr(board, forbidden) is False
            allowed = {"undo", "restart"} - {forbidden}
            assert refused(await line.ask("move", move=forbidden, ply=1), "not-allowed")
            assert boarded(await line.ask("move", move=allowed.pop(), ply=1)).ply == 2


async def test_a_connection_may_join_again_and_keeps_its_seat(server: LoggedServer, form: codec.Form) -> None:
    async with await Line.open(server, form, "ada") as line:
        view = await alone(line, server)
        for _ in range(3):
            again = viewed(await line.ask("join", race=view.race))
            assert (again.n, again.seat, again.board) == (view.n, 1, view.board)
        assert boarded(await line.ask("join", race=view.race, legal=False)).moves is None
        assert viewed(await line.ask("move", move="draw", ply=0)).n == view.n + 1


async def test_who_watched_may_join_and_who_raced_may_watch(server: LoggedServer, form: codec.Form) -> None:
    race = server.create("corners", seed="1", max_racers=2, start_delay_ms=0)
    async with await Line.open(server, form, "ada") as ada, await Line.open(server, form, "bo") as bo:
        assert viewed(await ada.ask("watch", race=race)).seat is None
        assert viewed(await ada.ask("join", race=race)).seat == 1
        await bo.ask("join", race=race)
        await bo.ask("ready")
        assert boarded(await ada.ask("ready")).ply == 0
        watching = viewed(await ada.ask("watch", race=race))
        assert (watching.seat, watching.board) == (None, None)
        assert refused(await ada.ask("move", move="draw", ply=0), "not-seated")
        back = viewed(await ada.ask("join", race=race))
        assert (back.seat, back.n) == (1, watching.n + 1)
        assert viewed(await ada.ask("move", move="draw", ply=0)).n == back.n + 1


async def test_who_leaves_looks_on_and_may_come_back(server: LoggedServer, form: codec.Form) -> None:
    race = server.create("corners", seed="1", max_racers=2)
    async with await Line.open(server, form, "ada") as ada, await Line.open(server, form, "bo") as bo:
        await bo.ask("join", race=race)
        for _ in range(3):
            assert viewed(await ada.ask("join", race=race)).seat == 2
            left = viewed(await ada.ask("leave"))
            assert (left.seat, [standing.name for standing in left.standings]) == (None, ["bo"])
            assert refused(await ada.ask("leave"), "not-seated")
            assert refused(await ada.ask("ready"), "not-seated")
            assert isinstance(await ada.ask("ping"), m.Pong)
        n = viewed(await bo.ask("ready")).n
        while viewed(message := await ada.hear()).n < n:
            pass
        assert viewed(message).seat is None


async def test_who_goes_away_before_the_countdown_does_not_keep_others_waiting(
    strict: LoggedServer, form: codec.Form
) -> None:
    race = strict.create("corners", seed="1", max_racers=3)
    async with await Line.open(strict, form) as ada:
        welcome = await ada.ask("hello", name="ada")
        assert isinstance(welcome, m.Welcome)
        await ada.ask("join", race=race)
    async with await Line.open(strict, form, "bo") as bo:
        await bo.ask("join", race=race)
        async with await Line.open(strict, form) as again:
            await again.ask("hello", token=welcome.token)
            assert viewed(await again.ask("join", race=race)).seat == 1
            await asyncio.sleep(0.4)  # longer than the seat was kept for the connection that has ended
            assert len(viewed(await bo.ask("ready")).standings) == 2
        async with await Line.open(strict, form, "cy") as cy:
            await cy.ask("join", race=race)
            await cy.ask("ready")
            while (view := viewed(await bo.hear())).stage == "open":
                pass
        assert [standing.name for standing in view.standings] == ["bo", "cy"]


async def test_with_open_tables_onlookers_see_every_move(server: LoggedServer, form: codec.Form) -> None:
    race = server.create("corners", seed="1", max_racers=1, start_delay_ms=0, spectators="open")
    async with await Line.open(server, form, "ada") as ada, await Line.open(server, form, "bo") as bo:
        await ada.ask("join", race=race)
        assert viewed(await ada.ask("ready")).stage == "running"
        assert viewed(await bo.ask("watch", race=race)).boards
        for ply in range(3):
            boarded(await ada.ask("move", move="draw", ply=ply))
        while not ((view := viewed(await bo.hear())).boards and view.boards[1].ply == 3):
            pass


async def test_a_full_race_is_full_and_one_keeps_what_one_had(server: LoggedServer, form: codec.Form) -> None:
    async with await Line.open(server, form, "ada") as ada, await Line.open(server, form, "bo") as bo:
        full, own = await alone(ada, server), await alone(bo, server)
        assert refused(await bo.ask("join", race=full.race), "untimely")
        waiting = server.create("corners", seed="1", max_racers=1)
        assert viewed(await ada.ask("join", race=waiting)).seat == 1
        assert refused(await bo.ask("join", race=waiting), "race-full")
        moved = viewed(await bo.ask("move", move="draw", ply=0))
        assert (moved.race, moved.n) == (own.race, own.n + 1)


async def test_a_connection_may_go_from_race_to_race(server: LoggedServer, form: codec.Form) -> None:
    async with await Line.open(server, form, "ada") as line:
        first = await alone(line, server)
        second = await alone(line, server)
        moved = viewed(await line.ask("move", move="draw", ply=0))
        assert (moved.race, moved.n) == (second.race, second.n + 1)
        back = viewed(await line.ask("join", race=first.race))
        assert (back.race, boarded(back).ply) == (first.race, 0)
        assert viewed(await line.ask("move", move="draw", ply=0)).race == first.race


async def test_the_newer_connection_has_the_seat(server: LoggedServer, form: codec.Form) -> None:
    older = await Racer("ada").connect(server, form)
    race = server.create("corners", seed="1", max_racers=1, start_delay_ms=0)
    await older.join(race)
    await older.ask(m.Ready)
    async with await Line.open(server, form) as newer:
        await newer.ask("hello", token=older.token)
        view = viewed(await newer.ask("join", race=race))
        with pytest.raises(ConnectionClosed, match="4009"):
            await older.until(lambda view: view.stage == "over")
        assert viewed(await newer.ask("move", move="draw", ply=0)).n == view.n + 1


async def test_the_deal_comes_whole_to_whoever_asks_in_that_moment(server: LoggedServer) -> None:
    """News of the deal are not lost when a request is refused just then."""
    race = server.create("corners", seed="1", max_racers=1, start_delay_ms=60)
    async with await Line.open(server, "json", "ada") as line:
        await line.ask("join", race=race)
        await line.ask("ready")
        number = 1000
        seen: m.Board | None = None
        async with asyncio.timeout(60):
            while seen is None:
                number += 1
                await line.send(line.written({"t": "nonce", "id": number, "nonce": HEX}))
                message = await line.hear()
                seen = message.board if isinstance(message, m.View) else None
        assert seen.moves


# Floods, slow readers and doors.


async def test_a_flood_is_slowed_down_and_loses_nothing(strict: LoggedServer) -> None:
    loop = asyncio.get_running_loop()
    async with await Line.open(strict, "json", "ada") as line, await Line.open(strict, "json", "bo") as other:
        view = await alone(other, strict)
        began = loop.time()
        for number in range(100, 220):
            await line.send(line.written({"t": "ping", "id": number}))
        flood = asyncio.ensure_future(answers(line, 120))
        moved = await other.ask("move", move="draw", ply=0)
        assert not flood.done(), "one connection's flood slows another one down"
        assert viewed(moved).n == view.n + 1
        assert await flood == list(range(100, 220))
        assert loop.time() - began > 0.8, "120 messages at a burst of 20 and 100 a second"


async def answers(line: Line, count: int) -> list[int | None]:
    """The numbers of the requests that the next messages answer."""
    return [(await line.hear()).re for _ in range(count)]


async def test_who_does_not_read_stops_nobody_and_comes_back(server: LoggedServer) -> None:
    race = server.create("corners", seed="1", max_racers=2, start_delay_ms=0)
    slow, quick = await Racer("slow").connect(server), await Racer("quick").connect(server)
    await asyncio.gather(slow.join(race), quick.join(race))
    await asyncio.gather(slow.ask(m.Ready), quick.ask(m.Ready))
    await quick.until(lambda view: view.stage == "running")
    narrow = socket.socket()
    for buffer in (socket.SO_RCVBUF, socket.SO_SNDBUF):
        narrow.setsockopt(socket.SOL_SOCKET, buffer, 4096)
    narrow.connect(("127.0.0.1", server.port))
    before, loop, sent, sent_at = memory(server), asyncio.get_running_loop(), 0, 0.0
    async with await Line.open(server, "msgpack", sock=narrow, max_queue=1) as deaf:
        await deaf.ask("hello", token=slow.token)

        async def talk() -> None:
            nonlocal sent, sent_at
            while True:
                sent, sent_at = sent + 1, loop.time()
                await deaf.send(deaf.written({"t": "join", "id": sent, "race": race}))
                await deaf.send(deaf.written({"t": "ping", "id": sent, "x": "x" * 4_000}))

        talking = asyncio.create_task(talk())
        while sent < 2 or loop.time() - sent_at < 0.5:  # until the server no longer takes what the deaf one says
            assert sent < 20_000
            moves = quick.board.moves
            async with asyncio.timeout(60):
                assert isinstance(await quick.move(moves[0] if moves else "restart"), m.View)
            await asyncio.sleep(0.005)
        talking.cancel()
        await asyncio.gather(talking, return_exceptions=True)
        assert memory(server) - before < 16_000, "kB more for one connection that does not read"
        deaf.socket.transport.abort()  # closing it in order takes longer than anybody would wait
    async with await Line.open(server, "msgpack") as again:
        await again.ask("hello", token=slow.token)
        view = viewed(await again.ask("join", race=race))
        assert quick.view
        assert view.n > quick.view.n
        assert boarded(await again.ask("move", move="draw", ply=0)).ply == 1
    await asyncio.gather(quick.close(), slow.close())


def memory(server: LoggedServer) -> int:
    """What the server's process keeps in memory, in kB."""
    assert server.process
    return int(subprocess.check_output(["ps", "-o", "rss=", "-p", str(server.process.pid)]))


async def refused_at_the_door(server: LoggedServer, **options: Any) -> tuple[int, dict[str, Any]]:
    """Status and problem with which a connection is turned away."""
    with pytest.raises(InvalidStatus) as caught:
        async with connect(server.url.replace("http", "ws") + "/ws", **options):
            pass
    response = caught.value.response
    assert response.headers["Content-Type"] == "application/problem+json"
    problem: dict[str, Any] = codec.decode(bytes(response.body or b""), "json", dict)
    assert problem["status"] == response.status_code
    return response.status_code, problem


async def test_pages_of_other_sites_may_not_play(server: LoggedServer) -> None:
    own = server.url
    for origin in (None, own):
        async with await Line.open(server, "json", "ada", origin=origin) as line:
            assert isinstance(await line.ask("ping"), m.Pong)
    foreign = ["https://evil.example", "null", own + ".evil.example", own.replace("127.0.0.1", "localhost"), own + "0"]
    for origin in [*foreign, "http://127.0.0.1", "http://[", "", "file://", f"http://a@127.0.0.1:{server.port}"]:
        status, problem = await refused_at_the_door(server, additional_headers={"Origin": origin})
        assert (status, problem["code"]) == (403, "foreign-page"), origin


async def test_pages_at_the_public_address_may_play(strict: LoggedServer) -> None:
    async with await Line.open(strict, "json", "ada", origin="https://race.example") as line:
        assert isinstance(await line.ask("ping"), m.Pong)
    for origin in ("http://race.example", "https://race.example:81", "https://race.example.evil.example"):
        assert (await refused_at_the_door(strict, additional_headers={"Origin": origin}))[0] == 403


async def test_connections_are_not_logged_one_by_one(server: LoggedServer) -> None:
    before = server.log
    async with await Line.open(server, "json", "ada") as line:
        await line.ask("ping")
    await refused_at_the_door(server, subprotocols=[Subprotocol("chat")])
    assert server.get("/healthz")[0] == 200
    assert server.log == before


async def test_only_known_subprotocols_are_spoken(server: LoggedServer) -> None:
    for names in (["samedeal.v2.json"], ["chat"], ["SAMEDEAL.V1.JSON", "mqtt"]):
        status, problem = await refused_at_the_door(server, subprotocols=[Subprotocol(name) for name in names])
        assert (status, problem["code"]) == (426, "unsupported-version")
        assert "samedeal.v1.json" in problem["detail"]
    url = server.url.replace("http", "ws") + "/ws"
    async with connect(url, subprotocols=[Subprotocol("chat"), Subprotocol("samedeal.v1.json")]) as socket:
        assert socket.subprotocol == "samedeal.v1.json"
    async with connect(url) as socket:
        await socket.send('{"t":"ping","id":1}')
        assert await socket.recv() == '{"re":1,"t":"pong"}'


async def test_an_address_has_only_so_many_connections(strict: LoggedServer) -> None:
    async with AsyncExitStack() as stack:
        lines = [await stack.enter_async_context(await Line.open(strict, "json", "ada")) for _ in range(3)]
        assert (await refused_at_the_door(strict))[0] == 429
        assert strict.get("/healthz")[0] == 200
        await lines[0].socket.close()
        async with asyncio.timeout(60):
            while True:
                try:
                    lines.append(await stack.enter_async_context(await Line.open(strict, "json", "ada")))
                    break
                except InvalidStatus:
                    await asyncio.sleep(0.01)
        for line in lines[1:]:
            assert isinstance(await line.ask("ping"), m.Pong)


def test_a_handshake_that_is_none_is_refused(server: LoggedServer) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    try:
        connection.request("GET", "/ws")
        response = connection.getresponse()
        response.read()
        assert response.status in (400, 404, 426)
    finally:
        connection.close()


def test_what_is_kept_from_the_log_is_what_uvicorn_says() -> None:
    """Once uvicorn no longer says it, nothing need be kept back."""
    source = inspect.getsource(websockets_sansio_impl) + inspect.getsource(httptools_impl)
    for text in CLIENTS_FAULTS:
        assert f'("{text}")' in source or f'msg = "{text}"' in source


def test_both_forms_say_the_same() -> None:
    content = {"t": "ping", "id": 8}
    assert codec.decode_to_server(written(content, "json"), "json") == m.Ping(id=8)
    assert codec.decode_to_server(written(content, "msgpack"), "msgpack") == m.Ping(id=8)

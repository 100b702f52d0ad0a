"""The client's connection: resending, reconnecting, and fatal errors."""

import asyncio
import random
from http import HTTPStatus

import pytest
from msgspec import structs
from websockets.asyncio.server import ServerConnection
from websockets.http11 import Request, Response

from samedeal.commitments import nonce_commitment
from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.proof.receipts import DigestReceipt
from samedeal.proof.verification import verify
from samedeal.race.events import RACE_FORMAT
from samedeal.race.race import Stage
from samedeal.wire import messages as m
from samedeal_cli.failure import Declined, Failure, Unreachable
from samedeal_cli.net import connection as module
from samedeal_cli.net.connection import Connection, Lost, Restored
from samedeal_cli.net.nonces import Nonces
from samedeal_cli.net.transport import TRANSIENT_CODES
from support.scripted_server import RACE, Peer, server, view
from support.servers import Server
from support.waiting import LIMIT_S

pytestmark = pytest.mark.tier(2)


@pytest.fixture(autouse=True)
def _in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BACKOFF_S", 0.01)
    monkeypatch.setattr(module, "LONGEST_BACKOFF_S", 0.05)
    monkeypatch.setattr(module, "NONCE_AGAIN_S", 0.01)


async def test_lost_move_is_resent_with_its_original_ply() -> None:
    async def script(peer: Peer) -> None:
        await peer.seat(ply=7)
        move = await peer.hear()
        if peer.number == 0:
            peer.socket.transport.abort()
            return
        await peer.say(structs.replace(view(ply=8), re=move.id))
        await peer.hear()

    async with server(script) as (url, received), Connection(url, RACE, name="ada") as connection:
        answer = await connection.move("draw")
        assert answer.board
        assert answer.board.ply == 8
        news = aiter(connection)
        assert isinstance(await anext(news), Lost)
        assert isinstance(await anext(news), Restored)
        assert connection.receipts.digests == (DigestReceipt(8, f"{7:064}"), DigestReceipt(9, f"{8:064}"))
    moves = [message for message in received if isinstance(message, m.Move)]
    assert [(move.move, move.ply) for move in moves] == [("draw", 7), ("draw", 7)]
    hellos = [message for message in received if isinstance(message, m.Hello)]
    assert [(hello.name, hello.token) for hello in hellos] == [("ada", None), (None, "t1")]
    assert {hello.format for hello in hellos} == {RACE_FORMAT}
    joins = [message.commitment for message in received if isinstance(message, m.Join)]
    assert len(joins) == 2
    assert len(set(joins)) == 1


@pytest.mark.parametrize("status", [None, 503])
async def test_url_names_the_race(status: int | None) -> None:
    paths = list[str]()

    async def script(peer: Peer) -> None:
        await peer.seat()
        await peer.socket.wait_closed()

    def accept(socket: ServerConnection, request: Request) -> Response | None:
        paths.append(request.path)
        return socket.respond(HTTPStatus(status), "") if status else None

    async with server(script, accept) as (url, _):
        if status:
            with pytest.raises(Unreachable, match=f"HTTP {status}"):
                async with Connection(url, RACE, name="ada"):
                    pass
        else:
            async with Connection(url, RACE, name="ada"):
                pass
    assert paths == [f"/ws/{RACE}"]


async def test_resent_request_that_was_already_executed_succeeds() -> None:
    async def script(peer: Peer) -> None:
        await peer.seat(stage="open")
        ready = await peer.hear()
        if peer.number == 0:
            peer.socket.transport.abort()
            return
        await peer.say(m.Problem.of(Refused("untimely"), ready.id))
        await peer.hear()

    async with server(script) as (url, _), Connection(url, RACE, name="ada") as connection:
        assert (await connection.ready()).stage == "open"


@pytest.mark.parametrize(("code", "says"), [(4009, "newer connection"), (4004, "you have logged out")])
async def test_replaced_or_logged_out_connection_does_not_reconnect(code: int, says: str) -> None:
    async def script(peer: Peer) -> None:
        await peer.seat()
        await peer.socket.close(code)

    async with server(script) as (url, received), Connection(url, RACE, name="ada") as connection:
        with pytest.raises(Declined, match=says):
            async for _ in connection:
                pass
        with pytest.raises(Failure):
            await connection.move("draw")
    assert sum(isinstance(message, m.Join) for message in received) == 1


async def test_logout_while_the_connection_is_lost_ends_it() -> None:
    """The race is not continued as a new guest of the same name."""

    async def script(peer: Peer) -> None:
        if peer.number == 0:
            await peer.seat()
            peer.socket.transport.abort()
            return
        hello = await peer.hear()
        await peer.say(m.Problem.of(Refused("bad-token"), hello.id))
        await peer.socket.close(4003)

    async with server(script) as (url, received), Connection(url, RACE, name="ada", token="sd_x") as connection:
        with pytest.raises(Declined, match="token is missing or unknown"):
            async for _ in connection:
                pass
    assert [message.token for message in received if isinstance(message, m.Hello)] == ["sd_x", "t1"]


async def test_unknown_token_is_replaced_by_a_new_guest() -> None:
    async def script(peer: Peer) -> None:
        if peer.number == 0:
            hello = await peer.hear()
            await peer.say(m.Problem.of(Refused("bad-token"), hello.id))
            await peer.socket.close(4003)
            return
        await peer.seat()
        await peer.hear()

    tokens: list[str | None] = []
    async with (
        server(script) as (url, received),
        Connection(url, RACE, name="ada", token="old", on_welcome=lambda welcome: tokens.append(welcome.token)),
    ):
        pass
    assert [(hello.token, hello.name) for hello in received if isinstance(hello, m.Hello)] == [
        ("old", None),
        (None, "ada"),
    ]
    assert tokens == ["t1"]
    async with server(script) as (url, _):
        with pytest.raises(Declined) as declined:
            async with Connection(url, RACE, token="old"):
                pass
        assert declined.value.code == "bad-token"


class OfOneServer(Nonces):
    """Nonces that ignore the port of the server, which changes in each run."""

    def nonce(self, seat: str, *, opened: bool) -> bytes:
        return super().nonce(RACE, opened=opened)

    def note(self, seat: str) -> None:
        super().note(RACE)


async def test_nonce_is_revealed_during_countdown_even_after_a_restart() -> None:
    async def script(peer: Peer) -> None:
        await peer.seat(stage="open")
        await peer.say(view("countdown"))
        await peer.hear()
        opened.set()
        await peer.hear()

    async def countdown(peer: Peer) -> None:
        await peer.seat(stage="countdown")
        await peer.hear()
        opened.set()
        await peer.hear()

    opened, nonces = asyncio.Event(), OfOneServer(b"k" * 32)
    promised: list[str | None] = []
    revealed: list[str] = []
    for play in (script, countdown, script):
        async with server(play) as (url, received), Connection(url, RACE, name="ada", nonces=nonces) as connection:
            await asyncio.wait_for(opened.wait(), 60)
            opened.clear()
            promised += [message.commitment for message in received if isinstance(message, m.Join)]
            revealed += [message.nonce for message in received if isinstance(message, m.Nonce)]
            assert connection.view.stage == "countdown"
    assert len(revealed) == 3
    assert nonce_commitment(RACE, bytes.fromhex(revealed[0])) == promised[0]
    assert revealed[1] == revealed[0]  # the same countdown after a restart
    assert revealed[2] != revealed[0]  # a new race with the same id uses another nonce
    assert nonce_commitment(RACE, bytes.fromhex(revealed[2])) == promised[2]


@pytest.mark.parametrize("code", TRANSIENT_CODES)
async def test_nonce_is_resent_after_a_temporary_error(code: str) -> None:
    async def script(peer: Peer) -> None:
        await peer.seat(stage="countdown")
        for _ in range(2):
            await peer.say(m.Problem.of(Refused(code), (await peer.hear()).id))
        await peer.say(structs.replace(view("countdown"), re=(await peer.hear()).id))
        taken.set()
        await peer.hear()

    taken = asyncio.Event()
    async with server(script) as (url, received), Connection(url, RACE, name="ada"):
        await asyncio.wait_for(taken.wait(), 60)
        await asyncio.sleep(0.1)
    nonces = [message for message in received if isinstance(message, m.Nonce)]
    assert len(nonces) == 3
    assert len({message.nonce for message in nonces}) == 1
    assert len({message.id for message in nonces}) == 3


@pytest.mark.parametrize(("code", "stage"), [("untimely", "countdown"), ("store-unavailable", "running")])
async def test_nonce_that_is_too_late_is_not_resent(code: str, stage: Stage) -> None:
    async def script(peer: Peer) -> None:
        await peer.seat(stage="countdown")
        nonce = await peer.hear()
        await peer.say(view(stage))
        await peer.say(m.Problem.of(Refused(code), nonce.id))
        done.set()
        await peer.hear()

    done = asyncio.Event()
    async with server(script) as (url, received), Connection(url, RACE, name="ada"):
        await asyncio.wait_for(done.wait(), 60)
        await asyncio.sleep(0.1)
    assert sum(isinstance(message, m.Nonce) for message in received) == 1


@pytest.mark.parametrize("code", TRANSIENT_CODES)
async def test_reconnecting_retries_after_a_temporary_refusal(code: str) -> None:
    async def script(peer: Peer) -> None:
        if peer.number in (1, 2):
            request = await peer.hear()
            if peer.number == 2:
                await peer.say(m.Welcome(re=request.id, player="p1", name="ada", server="test"))
                request = await peer.hear()
            await peer.say(m.Problem.of(Refused(code), request.id))
            await peer.socket.wait_closed()
            return
        await peer.seat(ply=peer.number)
        if peer.number == 0:
            peer.socket.transport.abort()
        await peer.socket.wait_closed()

    async with server(script) as (url, _), Connection(url, RACE, name="ada") as connection:
        news = aiter(connection)
        assert isinstance(await anext(news), Lost)
        back = await asyncio.wait_for(anext(news), 60)
        assert isinstance(back, Restored)
        assert back.view.n == 4


async def test_connecting_raises_a_temporary_refusal() -> None:
    async def script(peer: Peer) -> None:
        await peer.say(m.Problem.of(Refused("store-unavailable", "Not now."), (await peer.hear()).id))
        await peer.socket.wait_closed()

    async with server(script) as (url, _):
        with pytest.raises(Declined, match=r"^Not now$") as declined:
            async with Connection(url, RACE, name="ada"):
                pass
        assert declined.value.code == "store-unavailable"


async def test_refused_move_raises_and_changes_nothing() -> None:
    async def script(peer: Peer) -> None:
        await peer.seat()
        await peer.say(m.Problem.of(Refused("illegal-move", "No."), (await peer.hear()).id))
        await peer.hear()

    async with server(script) as (url, _), Connection(url, RACE, name="ada") as connection:
        with pytest.raises(Refused, match="No"):
            await connection.move("nope")
        assert connection.view.n == 1


async def test_answer_of_the_expected_kind_is_returned() -> None:
    async def script(peer: Peer) -> None:
        await peer.seat()
        for _ in range(2):
            await peer.say(m.Pong(re=(await peer.hear()).id))
        await peer.hear()

    async with server(script) as (url, _), Connection(url, RACE, name="ada") as connection:
        assert await connection.ask(m.Ping(id=100), m.Pong) == m.Pong(re=100)
        with pytest.raises(Unreachable, match="the wrong kind of answer"):
            await connection.ask(m.Ping(id=101), m.View)


async def test_reconnecting_gives_up_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_RECONNECT_S", 0.1)

    async def script(peer: Peer) -> None:
        await peer.seat()
        if peer.number == 0:
            peer.socket.transport.abort()

    async with server(script) as (url, _):
        connection = Connection(url, RACE, name="ada")
        await connection.__aenter__()
    with pytest.raises(Unreachable):
        async for _ in connection:
            pass
    with pytest.raises(Unreachable):
        await connection.move("draw")
    await connection.__aexit__(None, None, None)


async def test_other_servers_are_unreachable() -> None:
    async def script(peer: Peer) -> None:
        await peer.hear()
        await peer.socket.send("hello yourself")

    async with server(script) as (url, _):
        with pytest.raises(Unreachable):
            async with Connection(url, RACE, name="ada"):
                pass


async def test_spectator_of_open_tables_has_the_newest_boards(live: Server) -> None:
    race = live.create("corners", seed="42", max_racers=1, start_delay_ms=0, spectators="open")
    async with (
        Connection(live.url, race, name="ada") as racer,
        Connection(live.url, race, name="bo", watch=True) as onlooker,
        asyncio.timeout(LIMIT_S),
    ):
        if (await racer.ready()).stage != "running":
            async for _ in racer:
                if racer.view.stage == "running":
                    break
        for _ in range(3):
            await racer.move("draw")
        async for _ in onlooker:
            if onlooker.view.boards and onlooker.view.boards[1].ply == 3:
                break
        assert racer.view.board
        assert onlooker.view.boards
        assert onlooker.view.boards[1].table == racer.view.board.table
        assert onlooker.view.seat is None


async def test_race_continues_after_the_server_is_killed_and_restarted(store_url: str) -> None:
    chance = random.Random(5)
    game = Server(store_url).start()
    race = game.create("gallery", seed="1", max_racers=1, start_delay_ms=300)
    async with Connection(game.url, race, name="ada") as connection:
        await connection.ready()
        async with asyncio.timeout(LIMIT_S):
            async for _ in connection:
                if connection.view.stage == "running":
                    break
            for step in range(30):
                if step == 10:
                    game.kill()
                    asyncio.get_running_loop().call_later(0.3, lambda: game.start(game.port))
                assert connection.view.board
                assert connection.view.board.moves, step
                await connection.move(chance.choice(connection.view.board.moves))
            await connection.resign()
            async for _ in connection:  # first, that the connection was lost
                if connection.over:
                    break
    replay = await game.replay(race)
    game.__exit__()
    assert len(connection.receipts.digests) > 10
    assert [fact for fact in verify(replay, receipts=connection.receipts) if not fact.holds] == []
    assert GAMES["gallery"].slug == replay.header.game

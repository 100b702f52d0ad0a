"""Guests choose a name, log in on several devices and log out over HTTP, at servers that share a store."""

import json
from pathlib import Path
from typing import Any

import pytest
import segno

from samedeal.wire import messages as m
from support.faulty_store import Valkey
from support.http_api import problem
from support.logged_server import Answer, Line, LoggedServer, request
from support.sessions import alone, boarded, refused, viewed
from support.stores import until

pytestmark = pytest.mark.tier(2)

SETTINGS = {"log_level": "debug"}

INVALID = "The code is wrong, was already used, or has expired."


def post(server: LoggedServer, path: str, token: str | None = None, body: object = None, **headers: str) -> Answer:
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    data = None if body is None else json.dumps(body).encode()
    return request(server, "POST", f"/api/v1/guests/{path}", data, **headers)


def login(server: LoggedServer, code: str, **headers: str) -> Answer:
    return post(server, "login", body={"code": code}, **headers)


def invalid(answer: Answer) -> bool:
    """Check that a code was refused, with the same answer for every reason."""
    return problem(answer, "bad-code") and bool(answer.json["detail"] == INVALID)


async def new_guest(server: LoggedServer, name: str = "ada") -> m.Welcome:
    async with await Line.open(server) as line:
        welcome = await line.ask("hello", name=name)
        assert isinstance(welcome, m.Welcome)
        return welcome


async def new_token(server: LoggedServer, name: str = "ada") -> str:
    token = (await new_guest(server, name)).token
    assert token
    return token


def new_code(server: LoggedServer, token: str) -> str:
    answer = post(server, "pass", token)
    assert answer.status == 200
    code: str = answer.json["code"]
    return code


def new(server: LoggedServer, name: object, **headers: str) -> Answer:
    return request(server, "POST", "/api/v1/guests", json.dumps({"name": name}).encode(), **headers)


async def test_new_guest_is_the_host_of_its_first_race(server: LoggedServer, other: LoggedServer) -> None:
    answer = new(server, "  Zoe\u0308 ")
    token = answer.json["token"]
    assert (answer.status, answer.json) == (201, {"player": answer.json["player"], "name": "Zo\u00eb", "token": token})
    race = other.create("corners", token=token)
    assert request(server, "GET", f"/api/v1/races/{race}").json["host"] == {"name": "Zo\u00eb"}
    page = request(server, "GET", f"/r/{race}", Accept="text/html").body.decode()
    assert '<meta property="og:description" content="Zo\u00eb challenges you to Corners. 0 of 8 seats taken.">' in page
    async with await Line.open(server) as line:
        welcome = await line.ask("hello", token=token)
        assert isinstance(welcome, m.Welcome)
        assert (welcome.player, welcome.name, welcome.token) == (answer.json["player"], "Zo\u00eb", None)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        *((body, "bad-request") for body in (b"", b"[]", b"{}", b'{"name":1}', b'{"name":"a","x":1}', b"\xff")),
        (b'{"name":""}', "bad-message"),
        (b'{"name":"a\\u202e"}', "bad-message"),
        (json.dumps({"name": "x" * 25}).encode(), "bad-message"),
        (json.dumps({"name": "x" * 65}).encode(), "bad-request"),
        (json.dumps({"name": "x" * 20_000}).encode(), "too-large"),
    ],
)
def test_invalid_guests_are_refused(server: LoggedServer, body: bytes, code: str) -> None:
    problem(request(server, "POST", "/api/v1/guests", body), code)


def test_other_pages_cannot_create_guests(server: LoggedServer) -> None:
    problem(new(server, "ada", Origin="https://evil.example"), "foreign-page")
    assert new(server, "ada", Origin=server.url).status == 201


async def test_code_moves_a_name_to_another_device(server: LoggedServer, other: LoggedServer) -> None:
    welcome = await new_guest(server, "Zoë O’Neil")
    answer = post(server, "pass", welcome.token)
    assert answer.json.keys() == {"code", "link", "qr", "expires_in_s"}
    assert answer.json["expires_in_s"] == 600
    logged_in = login(other, answer.json["code"])
    assert logged_in.status == 200
    token = logged_in.json["token"]
    assert logged_in.json == {"player": welcome.player, "name": "Zoë O’Neil", "token": token}
    assert token != welcome.token
    for each in (welcome.token, token):
        async with await Line.open(server) as line:
            again = await line.ask("hello", token=each)
            assert isinstance(again, m.Welcome)
            assert (again.player, again.name, again.token) == (welcome.player, welcome.name, None)


async def test_both_devices_have_the_same_seat(server: LoggedServer, other: LoggedServer) -> None:
    token = await new_token(server)
    on_phone = login(other, new_code(server, token)).json["token"]
    async with await Line.open(server) as laptop, await Line.open(other) as phone:
        await laptop.ask("hello", token=token)
        await phone.ask("hello", token=on_phone)
        view = await alone(laptop, server)
        race = view.header.race if view.header else ""
        assert viewed(await phone.ask("join", race=race)).seat == 1
        assert await laptop.close_code() == 4009
        moves = boarded(await phone.ask("join", race=race)).moves
        assert moves
        assert viewed(await phone.ask("move", move=moves[0], ply=0))


async def test_link_and_qr_code_contain_the_code(server: LoggedServer) -> None:
    answer = post(server, "pass", await new_token(server)).json
    assert answer["link"] == f"{server.url}/login#{answer['code']}"
    modules = segno.make(answer["link"], error="l", micro=False).matrix
    assert answer["qr"] == ["".join(map(str, row)) for row in modules]


async def test_link_has_the_public_url(store_url: str, tmp_path: Path) -> None:
    with LoggedServer(store_url, tmp_path / "log", public_url="https://race.example").start() as server:
        answer = post(server, "pass", await new_token(server)).json
        assert answer["link"] == f"https://race.example/login#{answer['code']}"
        token = await new_token(server)
    with LoggedServer(store_url, tmp_path / "log", emptied=False).start() as server:
        problem(post(server, "pass", token, Host=f"{'x' * 280}.example"), "bad-request", "too long")


@pytest.mark.parametrize("path", ["pass", "logout"])
def test_requests_without_a_token_are_refused(server: LoggedServer, path: str) -> None:
    for headers in ({}, {"Authorization": "Basic x"}, {"Authorization": "Bearer "}):
        problem(request(server, "POST", f"/api/v1/guests/{path}", None, **headers), "bad-token")


@pytest.mark.parametrize(
    "body",
    [None, b"", b"{}", b"[]", b'{"code":1}', b'{"code":null}', b'{"code":"a","x":1}', b"\xff", b'"' + b"x" * 999],
)
def test_malformed_logins_are_refused(server: LoggedServer, body: bytes | None) -> None:
    problem(request(server, "POST", "/api/v1/guests/login", body), "bad-request")


def test_oversized_logins_are_refused(server: LoggedServer) -> None:
    problem(login(server, "x" * 20_000), "too-large")
    problem(login(server, "x" * 65), "bad-request")


async def test_secrets_are_not_logged(server: LoggedServer, other: LoggedServer) -> None:
    token = await new_token(server)
    code = new_code(server, token)
    problem(login(server, code + "0"), "bad-code")
    on_phone = login(server, code).json["token"]
    post(server, "logout", on_phone)
    assert request(server, "GET", "/login", Accept="text/html").status == 200
    for secret in (code, code.replace("-", ""), token, on_phone):
        assert secret not in server.log + other.log


def test_login_page_is_the_same_for_everybody(server: LoggedServer) -> None:
    """The code is in the fragment, which the server never gets, so previews of the link cannot use it up."""
    page = request(server, "GET", "/login", Accept="text/html")
    assert page.headers["referrer-policy"] == "no-referrer"
    assert "script" not in page.headers["content-security-policy"]
    assert b"<title>Log in \xc2\xb7 Same Deal</title>" in page.body
    assert (
        request(server, "GET", "/login", Accept="text/plain").body.decode() == f"samedeal --server {server.url} login\n"
    )


async def test_logout_revokes_the_token_of_one_device(server: LoggedServer, other: LoggedServer) -> None:
    token = await new_token(server)
    on_phone = login(server, new_code(server, token)).json["token"]
    code = new_code(server, on_phone)
    for where in (server, other, server):
        answer = post(where, "logout", on_phone)
        assert (answer.status, answer.body) == (204, b"")
    async with await Line.open(other) as line:
        assert refused(await line.ask("hello", token=on_phone), "bad-token")
        assert await line.close_code() == 4003
    problem(post(other, "pass", on_phone), "bad-token")
    assert invalid(login(server, code)), "the code of a device that has logged out"
    async with await Line.open(other) as line:
        assert isinstance(await line.ask("hello", token=token), m.Welcome)
    assert post(other, "pass", token).status == 200


@pytest.mark.parametrize("header", [False, True])
async def test_logout_closes_the_connections_of_the_token(
    header: bool, server: LoggedServer, other: LoggedServer
) -> None:
    """On every server, with or without a race; those of other devices and players stay open."""
    token = await new_token(server)
    on_phone = login(server, new_code(server, token)).json["token"]
    bearer: dict[str, Any] = {"additional_headers": {"Authorization": f"Bearer {on_phone}"}} if header else {}
    fields = {} if header else {"token": on_phone}
    async with (
        await Line.open(server, **bearer) as here,
        await Line.open(other, **bearer) as there,
        await Line.open(other) as laptop,
        await Line.open(other, name="bo") as bo,
    ):
        for line in (here, there):
            assert isinstance(await line.ask("hello", **fields), m.Welcome)
        assert isinstance(await laptop.ask("hello", token=token), m.Welcome)
        view = await alone(there, server)
        assert post(server, "logout", on_phone).status == 204
        assert [await line.close_code() for line in (here, there)] == [4004, 4004]
        for line in (laptop, bo):
            assert isinstance(await line.ask("ping"), m.Pong)
        race = view.header.race if view.header else ""
        assert viewed(await laptop.ask("join", race=race)).seat == 1, "the seat is still the player's"


async def test_new_guest_can_log_out(server: LoggedServer, other: LoggedServer) -> None:
    """The connection that created the guest uses the token that it received."""
    async with await Line.open(server) as line:
        welcome = await line.ask("hello", name="ada")
        assert isinstance(welcome, m.Welcome)
        assert post(other, "logout", welcome.token).status == 204
        assert await line.close_code() == 4004


async def test_unknown_tokens_and_codes_share_a_limit(store_url: str, tmp_path: Path) -> None:
    with LoggedServer(
        store_url, tmp_path / "log", wrong_tokens_per_minute="3", trusted_proxies="127.0.0.1"
    ).start() as server:
        token = await new_token(server)
        elsewhere = {"X_Forwarded_For": "198.51.100.7"}
        mixed = [login(server, "0000-0000-0000"), post(server, "pass", "sd_x"), post(server, "logout", "sd_x")]
        assert [answer.status for answer in mixed] == [401, 401, 204]
        for answer in (login(server, "0"), post(server, "pass", "sd_y"), post(server, "logout", "sd_y")):
            problem(answer, "too-many", "unknown tokens and codes")
            assert int(answer.headers["retry-after"]) > 0
        assert invalid(login(server, "0", **elsewhere))
        on_phone = login(server, new_code(server, token))
        assert on_phone.status == 200, "valid tokens and codes always work"
        assert post(server, "logout", on_phone.json["token"]).status == 204


async def test_unavailable_store_refuses_and_loses_nothing(tmp_path: Path) -> None:
    valkey = Valkey(tmp_path / "store")
    await valkey.start()
    with LoggedServer(valkey.url, tmp_path / "log").start() as server:
        token = await new_token(server)
        code = new_code(server, token)
        await valkey.kill()
        for answer in (post(server, "pass", token), login(server, code), post(server, "logout", token)):
            problem(answer, "store-unavailable")
        await valkey.start()
        await until(lambda: request(server, "GET", "/readyz").status == 200)
        on_phone = login(server, code)
        assert on_phone.status == 200
        async with await Line.open(server) as line:
            assert isinstance(await line.ask("hello", token=token), m.Welcome)
            assert post(server, "logout", token).status == 204
            assert await line.close_code() == 4004
    await valkey.kill()

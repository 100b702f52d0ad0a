"""Request limits: every endpoint has a cost and refuses clients that send too many requests."""

import asyncio
import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from inspect import getclosurevars
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.types import Receive, Scope, Send
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from samedeal.errors import Refused
from samedeal.wire import messages as m
from samedeal_server.api import endpoint as http
from samedeal_server.api.admission import HEALTH_CHECKS, Admission
from samedeal_server.api.endpoint import Endpoint
from samedeal_server.api.page_files import page_paths
from samedeal_server.app import create_app
from samedeal_server.net.limits import FILES, MAX_DELAY_S, TAKE, RateLimit, RateLimits, RequestLimit
from samedeal_server.settings import Keys, Settings
from support.logged_server import Answer, Line, LoggedServer, Undelayed, request

pytestmark = pytest.mark.tier(2)

BURST = 100
ODD = {"GET /page/style.css": 1, "GET /page/none": 1, "GET /nowhere": 1, "PUT /nowhere": 1, "DELETE /healthz": 1}
"""Static files, paths without an endpoint, and methods that an endpoint does not have."""
SOCKETS = {"/ws": 5, "/nowhere": 5}


@pytest.fixture(scope="module")
def server(store_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoggedServer]:
    """A server whose buckets do not refill during a test. Each test is a proxy for its own clients."""
    log = tmp_path_factory.mktemp("limits") / "log"
    limits = {"requests_per_second": "0.001", "request_burst": f"{BURST}", "trusted_proxies": "127.0.0.1"}
    with Undelayed(store_url, log, emptied=True, metrics="on", **limits).start() as running:
        yield running
        assert running.failures() == []


def costs() -> dict[str, int]:
    """Return the request tokens that every method and path of the application takes, except HEAD and health checks."""
    found = dict[str, int]()
    for route in create_app(Settings(), "unix:///nowhere", Keys(bytes(32), bytes(32))).routes:
        assert isinstance(route, Route | Mount), f"unexpected kind of route: {route}"
        if route.path in HEALTH_CHECKS:
            continue
        if isinstance(route, Mount):
            found[f"GET {route.path}"] = 1
        else:
            endpoints: Iterable[Endpoint] = getclosurevars(route.endpoint).nonlocals["by_method"].values()
            found |= {f"{endpoint.method} {endpoint.path}": endpoint.cost for endpoint in endpoints}
    return found


def until_refused(server: LoggedServer, operation: str, client: str, most: int = BURST) -> tuple[int, Answer]:
    """Send requests of a client until one is refused. Return the number of accepted requests and the refusal."""
    method, path = operation.split()
    path = re.sub(r"{.*?}", "none", path)
    headers = {"X_Forwarded_For": client} | ({"Content_Length": f"{10**9}"} if method == "POST" else {})
    for count in range(most + 1):
        answer = request(server, method, path, None, **headers)
        if answer.status == 429:
            return count, answer
    raise AssertionError(f"{operation} has no limit")


def drain(server: LoggedServer, client: str) -> None:
    """Take all request tokens of a client."""
    assert until_refused(server, "GET /api/v1/challenges", client)[0] == BURST // costs()["GET /api/v1/challenges"]


def test_requests_cost_what_their_answers_take() -> None:
    cheap = {"GET /": 1, "GET /api/v1/races/{race}": 5, "GET /api/v1/replays": 3}
    expensive = {"POST /api/v1/verify": 10, "POST /api/v1/races": 20, "GET /api/v1/races/{race}/card.png": 40}
    assert costs().items() >= (cheap | expensive).items()
    assert min(costs().values()) == 1


class Large:
    @http.route("GET", "/large", http.ResponseSpec())
    async def get(self, request: Request) -> Response:
        """Return a large response."""
        return Response(bytes(40 * http.BYTES_PER_TOKEN))


async def test_a_large_response_costs_more() -> None:
    limit = RateLimit("requests_per_second", "requests", 60, lambda: 0.0, burst=100)
    (large,) = http.starlette_routes(http.endpoints(Large()))
    assert isinstance(large, Route)
    request = Request({"type": "http", "method": "GET", TAKE: partial(limit.take, "192.0.2.1")})
    for _ in range(2):
        await large.endpoint(request)
    with pytest.raises(Refused, match="again in 17 s"):  # each took 39 tokens, and admission takes another one
        await large.endpoint(request)


def test_every_endpoint_refuses_too_frequent_requests(server: LoggedServer) -> None:
    expected = costs() | ODD
    with ThreadPoolExecutor(len(expected)) as pool:
        clients = [f"192.0.2.{number}" for number in range(len(expected))]
        results = dict(zip(expected, pool.map(until_refused, [server] * len(clients), expected, clients), strict=True))
    assert {operation: count for operation, (count, _) in results.items()} == {
        operation: BURST // cost for operation, cost in expected.items()
    }
    for operation, (_, answer) in results.items():
        assert answer.headers["content-type"] == "application/problem+json", operation
        assert answer.json["code"] == "too-many", operation
        assert int(answer.headers["retry-after"]) > 0, operation
        assert (answer.headers.get("access-control-allow-origin") == "*") is operation.startswith("GET"), operation


@pytest.mark.parametrize("path", SOCKETS)
async def test_handshakes_are_rate_limited(server: LoggedServer, path: str) -> None:
    client = f"198.51.100.{list(SOCKETS).index(path)}"

    async def status() -> int:
        try:
            async with connect(server.url.replace("http", "ws") + path, additional_headers={"X-Forwarded-For": client}):
                return 101
        except InvalidStatus as refused:
            return refused.response.status_code

    statuses = [await status() for _ in range(BURST // SOCKETS[path])]
    assert set(statuses) == {101 if path == "/ws" else 403}
    assert await status() == 429


def test_each_client_has_one_bucket_for_all_requests(server: LoggedServer) -> None:
    for _ in range(BURST // 10):
        assert request(server, "GET", "/api/v1/replays/none/steps", X_Forwarded_For="203.0.113.1").status == 404
    assert request(server, "GET", "/api/v1/games", X_Forwarded_For="203.0.113.1").status == 429
    assert request(server, "GET", "/api/v1/games", X_Forwarded_For="203.0.113.2").status == 200


def test_files_of_the_page_have_a_limit_of_their_own(server: LoggedServer) -> None:
    version = request(server, "GET", "/page/version").body.decode()
    file = f"GET /page/{version}/main.js"
    assert until_refused(server, file, "203.0.113.3", FILES * BURST)[0] == FILES * BURST
    assert until_refused(server, "GET /api/v1/games", "203.0.113.3")[0] == BURST
    for path in (*HEALTH_CHECKS, "/page/main.js", f"/page/{version}/nowhere.js", f"/page/{version[::-1]}/main.js"):
        assert request(server, "GET", path, X_Forwarded_For="203.0.113.3").status == 429


async def test_players_have_tokens_of_their_own(server: LoggedServer) -> None:
    def post(path: str, body: bytes | None = None, **headers: str) -> Answer:
        return request(server, "POST", f"/api/v1/guests{path}", body, X_Forwarded_For="203.0.113.4", **headers)

    def ask(token: str) -> int:
        client, bearer = "203.0.113.5", f"Bearer {token}"
        return request(server, "GET", "/api/v1/games", X_Forwarded_For=client, Authorization=bearer).status

    token = post("", b'{"name": "ada"}').json["token"]
    drain(server, "203.0.113.5")
    assert (ask(token), ask(token[::-1])) == (200, 429)
    async with await Line.open(server) as line:
        await line.ask("hello", token=token)
        assert post("/logout", Authorization=f"Bearer {token}").status == 204
        await line.close_code()
    assert ask(token) == 429


@pytest.mark.parametrize(("verifier", "times"), [(False, 8), (True, 5)])
@pytest.mark.tier(3)
def test_default_limits_allow_loading_the_page_several_times(
    verifier: bool, times: int, store_url: str, tmp_path: Path
) -> None:
    """With the verifier, which is loaded only to verify a race, and without it."""
    files = [name for name, _ in page_paths() if verifier or not name.startswith("verify/")]
    limit = f"{Settings().requests_per_second}"
    with LoggedServer(store_url, tmp_path / "log", requests_per_second=limit).start() as server:
        loaded = [request(server, "GET", f"/page/{file}").status for _ in range(times) for file in files]
    assert set(loaded) == {200}


def test_refusal_states_when_to_retry() -> None:
    limit = RateLimit("requests_per_second", "requests", 60 * 2, lambda: 0.0, burst=10)
    limit.take("a", 10)
    for count, wait_s in ((1, 1), (5, 3), (10, 5)):
        with pytest.raises(Refused, match=f"again in {wait_s} s") as refused:
            limit.take("a", count)
        assert refused.value.retry_after_s == wait_s


def test_burst_beyond_the_prompt_tokens_is_delayed() -> None:
    now = [0.0]
    limit = RateLimit("requests_per_second", "requests", 60 * 50, lambda: now[0], burst=460, prompt=60)
    assert [limit.take("a", count) for count in (60, 50, 10)] == [0, MAX_DELAY_S / 8, MAX_DELAY_S * 0.15]
    assert limit.take("b", 60) == 0
    now[0] = 2.0  # 100 tokens later
    assert limit.take("a", 40) == 0
    assert limit.take("a", 10) == MAX_DELAY_S / 40
    assert RateLimit("races_per_minute", "races", 60, lambda: 0.0).take("a", 60) == 0


def test_new_tokens_of_players_give_an_address_no_more_than_the_ceiling() -> None:
    now = [0.0]
    settings = Settings(requests_per_second=20, requests_per_address=20, request_burst=100)
    limit = RequestLimit(settings, lambda: now[0])
    players = [f"player {number}" for number in range(200)]

    def granted() -> int:
        """Let every player send requests until they are refused, and return how many were granted."""
        count = 0
        for player in players:
            limit.remember(player)
            with suppress(Refused):
                while True:
                    limit.take("a", player)
                    count += 1
        return count

    assert granted() == 100, "the address's own tokens only, however many players are new"
    now[0] += 1
    assert granted() == 100 + 20
    now[0] += 1
    assert granted() == 20 + 20
    with pytest.raises(Refused):
        limit.take("a", "unknown")
    now[0] += 3600
    assert granted() == 100 + 100
    now[0] += 3600
    for player in players[:2]:
        limit.take("a", player, 60)  # the second one beyond the ceiling, so from the address
    assert limit.take("b", players[2]) == 0


async def test_health_checks_do_not_wait_for_other_requests() -> None:
    started = list[str]()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        started.append(scope["path"])

    async def arrive(path: str) -> None:
        await admission(
            app,
            {"type": "http", "method": "GET", "path": path, "client": ("10.0.0.1", 1), "headers": []},
            unused,
            unused,
        )

    settings = Settings(http_connections_per_address=1)
    admission = Admission(RateLimits(settings), settings)
    await asyncio.gather(*map(arrive, ["/", *HEALTH_CHECKS]))
    assert started == [*HEALTH_CHECKS, "/"]


async def unused(*_: object) -> Any:
    raise AssertionError("the application answers")


async def test_simultaneous_requests_start_one_by_one_with_clients_in_rotation() -> None:
    started = list[str]()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        started.append(scope["client"][0])

    settings = Settings()
    admission = Admission(RateLimits(settings), settings)

    async def arrive(host: str) -> None:
        scope: Scope = {"type": "http", "method": "GET", "path": "/", "client": (host, 1), "headers": []}
        await admission(app, scope, unused, unused)

    await asyncio.gather(*map(arrive, ["192.0.2.1"] * 4 + ["192.0.2.2"] * 2 + ["192.0.2.3"]))
    assert [host[-1] for host in started] == ["1", "1", "2", "3", "1", "2", "1"]


async def test_requests_that_were_delayed_start_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    passes, started = 0, list[int]()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        started.append(passes)

    async def arrive() -> None:
        scope: Scope = {"type": "http", "method": "GET", "path": "/", "client": ("192.0.2.1", 1), "headers": []}
        await admission(app, scope, unused, unused)

    settings = Settings()
    limits = RateLimits(settings)
    monkeypatch.setattr(limits.requests, "take", lambda *_: 0.01)
    admission = Admission(limits, settings)
    arriving = asyncio.gather(*(arrive() for _ in range(5)))
    while not arriving.done():
        await asyncio.sleep(0)
        passes += 1
    assert len(started) == len({*started}) == 5


async def test_valid_token_works_after_too_many_wrong_ones(store_url: str, tmp_path: Path) -> None:
    with LoggedServer(store_url, tmp_path / "log", wrong_tokens_per_minute="3").start() as server:

        async def answer(**hello: str) -> m.FromServer:
            async with await Line.open(server) as line:
                return await line.ask("hello", **hello)

        welcome = await answer(name="ada")
        assert isinstance(welcome, m.Welcome)
        assert welcome.token
        wrong = await asyncio.gather(*(answer(token=f"sd_{number}") for number in range(10)))
        codes = [problem.code for problem in wrong if isinstance(problem, m.Problem)]
        assert sorted(codes) == ["bad-token"] * 3 + ["too-many"] * 7
        again = await answer(token=welcome.token)
        assert isinstance(again, m.Welcome)
        assert again.player == welcome.player

"""The admin endpoints answer on the socket in the data directory, or over HTTP with the admin key."""

import json
import signal
import socket
import stat
import time
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import pytest

from support.http_api import problem
from support.logged_server import Answer, LoggedServer, request
from support.servers import Server
from support.waiting import LIMIT_S

pytestmark = pytest.mark.tier(2)

KEY = "an admin key-an admin key-an admin key".replace(" ", "_")
LOG = "/api/v1/admin/log"


class SocketConnection(HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=LIMIT_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self._path))


def on_socket(data_dir: Path, method: str, path: str, body: object = None) -> Answer:
    with closing(SocketConnection(data_dir / "admin.sock")) as connection:
        connection.request(method, path, None if body is None else json.dumps(body))
        response = connection.getresponse()
        headers = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, headers, response.read())


def in_folder(server: LoggedServer, data_dir: Path) -> LoggedServer:
    """Give a server that has not started a data directory."""
    server._env["SAMEDEAL_DATA_DIR"] = str(data_dir)
    return server


@pytest.fixture(scope="module")
def server(store_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoggedServer]:
    folder = tmp_path_factory.mktemp("admin")
    server = LoggedServer(
        store_url,
        folder / "log",
        log_level="debug",
        admin_key=KEY,
        wrong_tokens_per_minute="3",
        trusted_proxies="127.0.0.1",
    )
    with server.start() as running:
        yield running
        assert running.failures() == []
        assert KEY not in running.log


def test_key_opens_the_admin_endpoints(server: LoggedServer) -> None:
    answer = request(server, "GET", LOG, Authorization=f"Bearer {KEY}")
    assert (answer.status, answer.json) == (200, {"entries": []})


def test_wrong_keys_are_refused_and_limited(server: LoggedServer) -> None:
    def answer(key: str) -> Answer:
        credentials = f"Bearer {key}".encode().decode("latin-1")
        return request(server, "GET", LOG, None, X_Forwarded_For="192.0.2.1", Authorization=credentials)

    assert problem(answer(""), "bad-token")
    for key in (KEY[:-1], "Ключ"):
        assert problem(answer(key), "bad-token")
    assert problem(answer("x"), "too-many")
    assert answer(KEY).status == 200


def test_server_without_a_key_answers_on_its_socket_only(store_url: str, tmp_path: Path) -> None:
    with in_folder(LoggedServer(store_url, tmp_path / "log"), tmp_path).start() as server:
        for credentials in (f"Bearer {KEY}", "Bearer ", "Basic x"):
            assert problem(request(server, "GET", LOG, None, Authorization=credentials), "not-found")
        assert on_socket(tmp_path, "GET", LOG).json == {"entries": []}
        assert stat.S_IMODE((tmp_path / "admin.sock").stat().st_mode) == 0o600
    assert not (tmp_path / "admin.sock").exists()


def test_first_worker_has_the_socket(store_url: str, tmp_path: Path) -> None:
    with Server(store_url, tmp_path, workers="2"):
        assert on_socket(tmp_path, "GET", LOG).status == 200


def test_newest_server_has_the_socket_and_a_stale_one_is_replaced(store_url: str, tmp_path: Path) -> None:
    with Server(store_url, tmp_path) as older, Server(store_url, tmp_path) as newer:
        older.kill(signal.SIGTERM)
        assert on_socket(tmp_path, "GET", LOG).status == 200
        newer.kill()
        assert (tmp_path / "admin.sock").exists()
        with Server(store_url, tmp_path):
            assert on_socket(tmp_path, "GET", LOG).status == 200


def test_another_server_takes_over_the_socket(store_url: str, tmp_path: Path) -> None:
    with Server(store_url, tmp_path), Server(store_url, tmp_path) as newer:
        newer.kill()
        deadline = time.monotonic() + 50
        while True:
            try:
                assert on_socket(tmp_path, "GET", LOG).status == 200
                break
            except OSError:
                assert time.monotonic() < deadline
                time.sleep(0.1)
        with Server(store_url, tmp_path):
            assert on_socket(tmp_path, "GET", LOG).status == 200


def test_a_missing_data_directory_is_created_for_the_socket(store_url: str, tmp_path: Path) -> None:
    folder = tmp_path / "new"
    with in_folder(LoggedServer(store_url, tmp_path / "log"), folder).start():
        assert on_socket(folder, "GET", LOG).status == 200
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_server_runs_without_a_data_directory(store_url: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with in_folder(LoggedServer(store_url, tmp_path / "log"), tmp_path / "file" / "none").start() as server:
        assert request(server, "GET", "/healthz").status == 200
        assert "samedeal admin needs SAMEDEAL_ADMIN_KEY" in server.log

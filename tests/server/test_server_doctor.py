"""``samedeal doctor --server-side``: what it finds in an installation, and what it calls a problem."""

import json
import os
import ssl
import time
from contextlib import suppress
from pathlib import Path
from signal import SIGKILL
from socket import create_server
from threading import Thread
from typing import Any

import pytest
from redis import Redis

from samedeal_server.store.schema import KEY as SCHEMA_KEY
from samedeal_server.store.schema import SCHEMA
from support.certificates import self_signed
from support.clusters import free_ports
from support.program import ran, without_settings
from support.servers import MASTER_KEY, Server

pytestmark = pytest.mark.tier(2)


def doctor(data_dir: Path, *words: object, code: int = 0, **settings: str) -> dict[str, Any]:
    """Check an installation with these settings, and return the findings."""
    own = {"PORT": "0", "DATA_DIR": str(data_dir)} | {name.upper(): value for name, value in settings.items()}
    environment = without_settings() | {f"SAMEDEAL_{name}": value for name, value in own.items()}
    done = ran("doctor", "--server-side", "--json", *words, code=code, environment=environment)
    found: dict[str, Any] = json.loads(done.stdout)
    assert code == int(bool(found["wrong"]))
    return found


def test_a_new_installation_has_no_problem_and_stays_untouched(tmp_path: Path) -> None:
    found = doctor(tmp_path / "data")
    assert found["data_directory"] == {"path": f"{tmp_path / 'data'} (created at the first start)"}
    assert found["store"]["answers"] == "not running: a server starts it"
    assert not (tmp_path / "data").exists()
    assert "terminal" not in found


def test_a_running_server_has_no_problem(tmp_path: Path) -> None:
    with Server(data_dir=tmp_path, master_key="", signing_key="") as server:
        found = doctor(tmp_path, port=f"{server.port}", public_url=server.url)
        assert found["machine"]["port"].startswith(f"127.0.0.1:{server.port} is served by samedeal/")
        assert found["public_URL"] == {
            "address": server.url,
            "answers": True,
            "this_server": True,
            "WebSockets": True,
        }
        assert found["data_directory"]["master.key"] == "found"
        store = found["store"]
        assert (store["answers"], store["safe"], store["master_key"], store["schema"]) == (
            True,
            True,
            True,
            f"{SCHEMA}",
        )
        assert store["program"].startswith("Valkey")
        with Redis.from_url(f"unix://{tmp_path}/store.sock") as redis:
            redis.config_set("appendfsync", "everysec")
            redis.set(SCHEMA_KEY, SCHEMA + 1)
            texts = "\n".join(doctor(tmp_path, code=1, master_key=MASTER_KEY)["wrong"])
            redis.delete(SCHEMA_KEY)
            older = "\n".join(doctor(tmp_path, code=1, master_key=MASTER_KEY)["wrong"])
        assert "no schema number" in older
        for text in ("reads only schema", "SAMEDEAL_STORE_DURABILITY", "which the server does not have"):
            assert text in texts


def test_every_port_needs_a_server(tmp_path: Path) -> None:
    (free,) = free_ports(1)
    with Server(data_dir=tmp_path, master_key="", signing_key="") as server:
        found = doctor(tmp_path, "--port", server.port, "--port", free, code=1)
    assert f":{server.port} is served by samedeal/" in found["machine"][f"port_{server.port}"]
    assert found["wrong"] == [f"no server is running on 127.0.0.1:{free}"]


@pytest.mark.tier(3)
def test_store_without_writes_is_a_problem(tmp_path: Path) -> None:
    with Server(data_dir=tmp_path, master_key="", signing_key=""):
        with Redis.from_url(f"unix://{tmp_path}/store.sock") as redis:
            redis.config_set("rdb-key-save-delay", 10**7)
            redis.bgsave()
            pid = redis.info("server")["process_id"]
            (child,) = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            os.kill(int(child), SIGKILL)
            while redis.info("persistence")["rdb_last_bgsave_status"] == "ok":
                time.sleep(0.01)
            assert "last snapshot failed" in doctor(tmp_path, code=1)["wrong"][0]
            redis.config_set("save", "3600 1")
        (wrong,) = doctor(tmp_path, code=1)["wrong"]
    assert "does not accept writes" in wrong
    assert "cannot write to its disk" in wrong


def test_another_server_at_the_public_url_is_a_problem(redis_url: str, tmp_path: Path) -> None:
    with Server(redis_url) as server, Server(data_dir=tmp_path, master_key="", signing_key=""):
        found = doctor(tmp_path, code=1, public_url=server.url)
    assert "leads to a server with another store" in found["wrong"][0]


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"rate": "often"}, "SAMEDEAL_RATE is often"),
        ({"redis_url": "redis://:secret@127.0.0.1:1"}, "the store cannot be used"),
        ({"public_url": "http://127.0.0.1:1"}, "Connection refused"),
        ({"public_url": "https://127.0.0.1:1"}, "SAMEDEAL_TRUSTED_PROXIES"),
        ({"public_url": "https://127.0.0.1:1"}, "the certificate of 127.0.0.1 cannot be checked"),
        ({"connections": "1000000000"}, "raise LimitNOFILE"),
        ({"redis_url": "redis://127.0.0.1:1/?retires=2"}, "unknown option 'retires'"),
        ({"host": "192.0.2.1"}, "cannot be used"),
    ],
)
def test_wrong_settings_are_problems(settings: dict[str, str], problem: str, tmp_path: Path) -> None:
    found = doctor(tmp_path / "data", code=1, **settings)
    assert any(problem in wrong for wrong in found["wrong"]), found["wrong"]
    assert "secret" not in json.dumps(found)


@pytest.mark.parametrize(("hours_ago", "hours_left", "late"), [(2, 10, False), (700, 1460, False), (2000, 160, True)])
def test_a_certificate_is_a_problem_when_its_renewal_is_late(
    hours_ago: int, hours_left: int, late: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = self_signed(tmp_path, hours_ago, hours_left)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(file)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))

    def greet(listener: ssl.SSLSocket) -> None:
        with suppress(OSError):  # closed at the end of the test
            while True:
                with suppress(ssl.SSLError):
                    listener.accept()[0].close()

    with context.wrap_socket(create_server(("127.0.0.1", 0)), server_side=True) as listener:
        Thread(target=greet, args=(listener,), daemon=True).start()
        found = doctor(tmp_path / "data", code=1, public_url=f"https://127.0.0.1:{listener.getsockname()[1]}")
    assert found["public_URL"]["certificate_days"] == pytest.approx(hours_left / 24, abs=0.1)
    assert any("check its renewal" in wrong for wrong in found["wrong"]) is late


def test_keys_that_others_can_read_are_a_problem(tmp_path: Path) -> None:
    (tmp_path / "master.key").write_text(MASTER_KEY)
    (tmp_path / "master.key").chmod(0o644)
    tmp_path.chmod(0o755)
    found = doctor(tmp_path, code=1)
    assert len(found["wrong"]) == 2
    assert MASTER_KEY not in json.dumps(found)


def test_old_or_missing_backups_are_a_problem(tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    assert "no backups" in doctor(tmp_path / "data", "--backups", folder, code=1)["wrong"][0]
    folder.mkdir()
    file = folder / "samedeal-20260101T000000Z.tar.gz"
    file.touch()
    assert doctor(tmp_path / "data", "--backups", folder)["backups"]["files"] == 1
    long_ago = time.time() - 3 * 86_400
    os.utime(file, (long_ago, long_ago))
    assert "hours old" in doctor(tmp_path / "data", "--backups", folder, code=1)["wrong"][0]


@pytest.mark.parametrize("option", ["--backups", "--port"])
def test_option_needs_the_server_side(option: str) -> None:
    ran("doctor", option, "1", code=2)

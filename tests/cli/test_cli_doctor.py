"""``samedeal doctor``: its findings and what it reports as a problem."""

import asyncio
import json
import os
import re
import time
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from samedeal.version import VERSION
from samedeal_cli.config_file import config_file
from samedeal_cli.net import guests
from samedeal_cli.settings import state_dir
from support.documents import serving
from support.faulty_proxy import Proxy
from support.offline_cli import outcome, printed, said
from support.program import SAMEDEAL
from support.servers import Server
from support.terminals import at_a_terminal, until

pytestmark = pytest.mark.tier(2)

NOBODY = "http://127.0.0.1:1"


def asked(*args: str) -> tuple[int, dict[str, Any]]:
    code, out, _ = outcome("doctor", "--json", *args)
    return code, json.loads(out)


def test_doctor_without_a_server_finds_no_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("samedeal_cli.settings.DEFAULT_SERVER", NOBODY)
    code, document = asked()
    assert (code, document["wrong"]) == (0, [])
    assert document["program"]["samedeal"] == VERSION
    assert document["libraries"]["click"] == metadata.version("click")
    assert document["libraries"].keys() >= {"msgspec", "websockets", "redis", "uvicorn", "hiredis"}
    assert not document["libraries"].keys() & {"pytest", "ruff", "picows"}
    assert document["paths"]["config"] == f"{config_file()} (missing)"
    assert document["terminal"]["input"] == "not a terminal"
    assert document["server"] == {"address": NOBODY, "reached": False}


def test_doctor_lists_each_library_once() -> None:
    lines, _ = said("doctor", "--server", NOBODY, code=3)
    names = [line.split()[0] for line in lines if line.startswith("  ")]
    assert names.count("hiredis") == 1, "the extras fast and all both have it"


def test_doctor_reports_an_unreachable_configured_server(monkeypatch: pytest.MonkeyPatch) -> None:
    for args in (("--server", NOBODY), ()):
        code, document = asked(*args)
        assert code == 3
        assert document["wrong"] == [f"{NOBODY} cannot be reached: Connection refused"]
        monkeypatch.setenv("SAMEDEAL_SERVER", NOBODY)


def test_doctor_checks_http_and_websocket(live: Server) -> None:
    code, document = asked("--server", live.url)
    assert (code, document["wrong"]) == (0, [])
    checks = document["server"]
    assert (checks["address"], checks["reached"], checks["ready"]) == (live.url, True, True)
    assert isinstance(checks["round_trip_ms"], float)  # rounded, so it may be 0.0
    assert 0 <= checks["round_trip_ms"] < 60_000
    assert checks["program"] == f"samedeal/{VERSION}"
    assert abs(checks["clock_ahead_ms"]) < 60_000


async def test_doctor_reports_a_server_without_its_store(store_url: str) -> None:
    async with Proxy(store_url) as proxy:
        server = Server(proxy.url)
        try:
            await asyncio.to_thread(server.start)
            proxy.cut()
            code, document = await asyncio.to_thread(asked, "--server", server.url)
        finally:
            await asyncio.to_thread(server.__exit__)
    assert code == 1
    assert document["server"]["ready"] is False
    assert document["wrong"][0].startswith("The store cannot be reached")


def test_doctor_shows_server_info_and_reports_a_failing_websocket() -> None:
    hour_ahead = json.dumps({"server": "samedeal/9.8.7", "time": round(time.time() * 1000) + 3_600_000, "more": []})
    without_websockets = {"/healthz": b"ok", "/readyz": b"ok", "/.well-known/samedeal": hour_ahead.encode()}
    with serving(without_websockets) as (address, _):
        code, document = asked("--server", address)
    assert code == 1
    assert document["server"]["program"] == "samedeal/9.8.7"
    assert abs(document["server"]["clock_ahead_ms"] - 3_600_000) < 60_000
    assert document["server"]["round_trip_ms"] is None
    assert document["wrong"][0].startswith("cannot open a WebSocket (is there a proxy in between?)")


def test_doctor_shows_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    guests.save(guests.Guest(NOBODY, "ada", "p1", "sd_kept"))
    for name in ("SAMEDEAL_TOKEN", "SAMEDEAL_MASTER_KEY", "REDIS_URL"):
        monkeypatch.setenv(name, "sd_told")
    monkeypatch.setenv("HOME", str(state_dir().parent.parent))
    out, err = printed("doctor", "--server", "http://ada:hunter2@127.0.0.1:1", code=3)
    assert "http://127.0.0.1:1 cannot be reached" in out
    assert not re.search(r"sd_|hunter2", out + err)
    assert "SAMEDEAL_TOKEN   is set" in out
    assert "state            ~/state/samedeal" in out
    assert "known players    1" in out


def test_doctor_reports_config_errors() -> None:
    config_file().parent.mkdir(parents=True)
    config_file().write_text('theme = "pink"\n')
    out, err = printed("doctor", code=1)
    assert out.splitlines()[-2:] == [
        "problems",
        f"  {config_file()}: theme must be one of terminal, dark, light, contrast, not 'pink'",
    ]
    assert err.splitlines()[-1] == "samedeal: 1 problem found"


def test_doctor_reports_a_missing_state_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    monkeypatch.setenv("SAMEDEAL_SERVER", NOBODY)
    code, document = asked()
    assert code == 3
    assert document["paths"]["state"] is None
    assert document["wrong"][0].endswith("file/samedeal is not writable")


@pytest.mark.parametrize(
    ("column", "code", "says"), [(8, 0, "1 cell"), (15, 1, "2 cells"), (None, 0, "does not report")]
)
def test_doctor_measures_the_width_of_suits(column: int | None, code: int, says: str) -> None:
    environment = os.environ | {"TERM": "xterm-256color", "PYTHONUTF8": "1"}
    with at_a_terminal(environment, [*SAMEDEAL, "doctor"]) as (process, terminal):
        text = ""
        if column is not None:
            text = until(terminal, "\x1b[6n")
            os.write(terminal, f"\x1b[12;{column}R".encode())
        text += until(terminal, "1 problem found" if code else "reached")
        assert process.wait(50) == code
    output = text.replace("\r\n", "\n")
    assert re.search(rf"suit width +.*{says}", output)
    assert re.search(r"colours +256\n", output)
    assert ("samedeal config set ascii on" in output) == (code == 1)

"""Data that released versions wrote is read and continued by this version, and by one that calls itself a later one."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from samedeal import codec
from samedeal.wire import messages as m
from support.contests import connected
from support.program import ran, without_settings
from support.saved_data import (
    FORMS,
    RACES,
    SAVED,
    VERSIONS,
    SavedServer,
    at_time_of,
    client_environment,
    documents_of,
    guest_in,
    read,
    recorded,
    session,
)

pytestmark = [
    pytest.mark.tier(2),
    pytest.mark.skipif(not shutil.which("faketime"), reason="faketime is not installed"),
    pytest.mark.parametrize("saved", VERSIONS),
]
PASSING = {"clock_ms", "h", "at", "detail", "title", "server", "guidance", "next"}
"""Fields with times, texts or random names."""


@pytest.fixture
def client(saved: str, tmp_path: Path) -> Path:
    """The folder with the files of a client."""
    subprocess.run(["tar", "-xzf", SAVED / saved / "client.tar.gz", "-C", tmp_path], check=True)
    return tmp_path / "client"


@pytest.fixture(params=[None, "1.1.0"])
def server(saved: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[SavedServer]:
    """A server on the saved store, of this version or a later one."""
    later = {"version": request.param} if request.param else {}
    with SavedServer(saved, tmp_path / "data", **later) as running:
        yield running


def missing(saved: Any, now: Any, where: str = "") -> Iterator[str]:
    """Yield where a document differs from a saved one, other than by more fields."""
    if isinstance(saved, dict) and isinstance(now, dict):
        for name, value in saved.items():
            if name not in now:
                yield f"{where}.{name} is missing"
            elif name not in PASSING:
                yield from missing(value, now[name], f"{where}.{name}")
    elif isinstance(saved, list) and isinstance(now, list) and len(saved) == len(now):
        for number, (old, new) in enumerate(zip(saved, now, strict=True)):
            yield from missing(old, new, f"{where}[{number}]")
    elif saved != now:
        yield f"{where} is {now!r}, not {saved!r}"


async def test_a_server_continues_with_a_saved_store(saved: str, server: SavedServer, client: Path) -> None:
    documents = json.loads((SAVED / saved / "documents.json").read_bytes())
    token, _ = guest_in(client)
    answers = documents_of(server, documents, token)
    assert [*missing(documents, {path: json.loads(body) for path, body in answers.items()})] == []
    (running,) = (race["race"] for race in documents[RACES]["races"] if race["stage"] == "running")
    async with connected(server, token) as ada:
        assert isinstance(await ada.join(running), m.View)
        assert ada.board.ply == 1
        assert ada.board.moves
        assert isinstance(await ada.move(ada.board.moves[0]), m.View)


@pytest.mark.parametrize("form", FORMS)
async def test_a_saved_session_is_answered_as_before(saved: str, server: SavedServer, form: codec.Form) -> None:
    async with session(server, form) as repeated:
        for request, answers in recorded(saved, form):
            answer = read(answers[-1], form)
            _, received = await repeated.exchange(bytes(request), answer.get("stage"))
            # A view in the next stage can be the answer, or follow it.
            assert [*missing(answer, {"re": answer.get("re"), **read(received[-1], form)})] == []


def test_a_saved_backup_is_verified_and_restored(saved: str, tmp_path: Path) -> None:
    backup, environment = SAVED / saved / "backup.tar.gz", without_settings() | at_time_of(saved)
    ran("backup", "--verify", backup, environment=environment)
    ran("restore", backup, "--data-dir", tmp_path / "data", environment=environment)


def test_a_client_reads_its_saved_files(saved: str, client: Path) -> None:
    environment = client_environment(client)
    assert ran("config", "get", "theme", environment=environment).stdout == "light\n"
    assert "ada" in ran("whoami", environment=environment).stdout
    (receipts,) = client.glob("state/samedeal/receipts/*")
    ran("verify", client / "solo.json", "--receipts", receipts, environment=environment)
    ran("club", "verify", *client.glob("club/*"), environment=environment)

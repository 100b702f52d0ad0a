"""``samedeal share`` prints the text that the page shares."""

import asyncio
import json
from collections.abc import Iterator

import pytest

from conftest import kept_store
from samedeal.wire import messages as m
from samedeal_cli.failure import Declined
from samedeal_cli.main import main
from support.par_requests import finished_race
from support.servers import Server, racers

pytestmark = pytest.mark.tier(2)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    for url in kept_store(tmp_path_factory.mktemp("store")):
        with Server(url).start() as running:
            yield running


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, server: Server) -> None:
    monkeypatch.setenv("SAMEDEAL_SERVER", server.url)


def share(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    assert main.exit_code(["share", *args]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def test_result_of_a_seat_includes_par_at_once(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    race_id = asyncio.run(finished_race(server, "the-edge", "cli share"))
    text = share(capsys, race_id, "--seat", "1")
    assert server.get(f"/api/v1/races/{race_id}/par")[0] == 200, "the command waits for par"
    _, body = server.get(f"/api/v1/races/{race_id}/card.txt?seat=1")
    assert text.encode() == body
    assert share(capsys, f"{server.url}/r/{race_id}", "--seat", "1", "--json") == (
        json.dumps({"text": text.rstrip("\n")}, ensure_ascii=False, separators=(",", ":")) + "\n"
    )
    everybody = share(capsys, race_id).splitlines()
    assert everybody[0].startswith("Same Deal · The Edge · ")
    assert {"ada", "bo"} <= set(everybody[0].replace(",", "").split())
    assert everybody[1:] == [f"{server.url}/r/{race_id}"]
    assert share(capsys, race_id, "--ascii").isascii()


def test_names_from_right_to_left_are_printed_without_control_characters(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    assert share(capsys, server.create("corners")).startswith("Same Deal · Corners · race me: 0 of 8 seats taken\n")
    race_id = asyncio.run(resigned(server, "שלום"))
    assert share(capsys, race_id).startswith("Same Deal · Corners · שלום 0 of 48\n")


async def resigned(server: Server, name: str) -> str:
    race_id = server.create("corners", seed="1", max_racers=1, start_delay_ms=0)
    async with racers(server, name) as (racer,):
        await racer.begin(race_id)
        await racer.ask(m.Resign)
    return race_id


def test_unknown_races_and_seats_are_refused(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    race_id = server.create("corners")
    for args, text in (([race_id, "--seat", "1"], "Nobody has seat 1"), (["calm-otter-42"], "was not found")):
        assert main.exit_code(["share", *args]) == Declined.exit_code
        assert text in capsys.readouterr().err

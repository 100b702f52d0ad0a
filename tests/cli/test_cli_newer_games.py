"""Games known only to a newer server can still be raced."""

import json
from collections.abc import Iterator
from unittest.mock import patch

import pytest

from samedeal.games.catalogue import GAMES
from samedeal_cli.render.rules import TOO_OLD
from support.offline_cli import outcome
from support.servers import Server

pytestmark = pytest.mark.tier(2)

NOBODY = "http://127.0.0.1:1"


@pytest.fixture(autouse=True)
def _older() -> Iterator[None]:
    """A program that does not know Gallery yet. Afterwards, the games are in their order again."""
    with patch.dict(GAMES):
        del GAMES["gallery"]
        yield


def test_unknown_game_can_be_opened(live: Server) -> None:
    for args in (("--seed", "7"), ("--deal", "gallery:7")):
        code, out, _ = outcome("new", "gallery", *args, "--json", "--server", live.url)
        assert (code, json.loads(out)["header"]["game"]) == (0, "gallery")


def test_unknown_game_can_be_played(live: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    typed = [b"deal\nrules\nresign\n", b""]
    monkeypatch.setattr("samedeal_cli.line.console._read", lambda: typed.pop(0))
    code, out, _ = outcome("solo", "gallery:7", "--server", live.url)
    lines = out.splitlines()
    assert code == 0
    assert lines[0].startswith("Gallery, race ")
    assert any(line.startswith("ok 1: deal: ") for line in lines)
    assert TOO_OLD in lines
    assert "the race is over; the deal was" in lines


def test_rules_of_an_unknown_game_come_from_the_server(live: Server) -> None:
    code, out, err = outcome("rules", "gallery", "--server", live.url)
    assert (code, err) == (0, f"samedeal: {TOO_OLD}\n")
    assert out.startswith("Gallery (gallery/1)\n\nThe table:\n")
    assert "    a1  a2  a3  a4" in out
    assert json.loads(outcome("rules", "gallery", "--json", "--server", live.url)[1])["slug"] == "gallery"


def test_game_unknown_to_the_server_exits_with_2(live: Server) -> None:
    code, _, err = outcome("new", "chess", "--server", live.url)
    assert code == 2
    assert f"unknown game 'chess'; the games are {', '.join(GAMES)}" in err
    code, _, err = outcome("new", "gallery", "--server", NOBODY)
    assert code == 2
    assert f"unknown game 'gallery'; the games are {', '.join(GAMES)} (" in err


def test_deal_of_an_unknown_game_exits_with_2(live: Server) -> None:
    assert outcome("deal", "gallery:7", "--server", live.url) == (2, "", f"samedeal: gallery: {TOO_OLD}\n")

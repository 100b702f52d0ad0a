"""Command-line parameters: valid and invalid durations, races, deals, names and variants."""

from pathlib import Path

import click
import pytest

from samedeal_cli.addresses import canonical_address, own_addresses, server_address
from samedeal_cli.commands.parameters import DEAL, DURATION, NAME, RACE, RACE_OR_DEAL, VARIANT, Deal, Link
from samedeal_cli.failure import Misused
from samedeal_cli.net import guests
from samedeal_cli.net.guests import Guest
from samedeal_cli.net.replay_loader import server_and_race
from samedeal_cli.settings import Settings

PASTED = (
    "https://cards.example/r/calm-otter-42.",
    "<https://cards.example/w/calm-otter-42>",
    "(https://cards.example/o/calm-otter-42/),",
    "https://cards.example/replay/calm-otter-42?fbclid=1#m35",
    "https://cards.example/r/Calm-Otter-42\u200b",
    "https://cards.example/api/v1/replays/calm-otter-42.json!",
    "https://cards.example/solution/calm-otter-42",
)
"""Links of a race's pages and files, as chats show them."""


@pytest.mark.parametrize(
    ("text", "ms"),
    [("20m", 1_200_000), ("90s", 90_000), ("500ms", 500), ("1m30s", 90_000), ("1.5s", 1_500), ("1h", 3_600_000)],
)
def test_durations(text: str, ms: int) -> None:
    assert DURATION.convert(text, None, None) == ms


@pytest.mark.parametrize("text", ["", "20", "m", "20 m", "-5s", "5x", "1s2"])
def test_invalid_durations(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not a valid duration"):
        DURATION.convert(text, None, None)


@pytest.mark.parametrize(
    ("text", "link"),
    [
        ("calm-otter-42", Link(None, "calm-otter-42")),
        ("http://10.0.0.2:8640/r/calm-otter-42", Link("http://10.0.0.2:8640", "calm-otter-42")),
        ("https://cards.example/r/calm-otter-42/", Link("https://cards.example", "calm-otter-42")),
        ("https://cards.example/w/calm-otter-42?x=1#m35", Link("https://cards.example", "calm-otter-42")),
        ("10.0.0.2:8640/r/a", Link("http://10.0.0.2:8640", "a")),
        *((text, Link("https://cards.example", "calm-otter-42")) for text in PASTED),
        ("Calm-Otter-42\u200b", Link(None, "calm-otter-42")),
    ],
)
def test_races(text: str, link: Link) -> None:
    assert RACE.convert(text, None, None) == link
    assert RACE_OR_DEAL.convert(text, None, None) == link


@pytest.mark.parametrize("text", PASTED)
def test_links_to_replays(text: str) -> None:
    assert server_and_race(Settings(), text) == ("https://cards.example", "calm-otter-42")


def test_ids_and_files_of_replays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = Settings(server="http://10.0.0.2:8640")
    assert server_and_race(settings, "Calm-otter-42,") == ("http://10.0.0.2:8640", "calm-otter-42")
    Path("calm-otter-42").touch()
    for text in ("calm-otter-42", "-", "race.json", "saved/r/race.json", "./race", ".."):
        assert server_and_race(settings, text) is None


@pytest.mark.parametrize("text", ["", "Calm Otter", "http://10.0.0.2/", "ftp://host/r/a", "http:///r/a", "a/b"])
def test_invalid_races(text: str) -> None:
    with pytest.raises(click.BadParameter):
        RACE.convert(text, None, None)


def test_deals() -> None:
    assert DEAL.convert("corners:42", None, None) == Deal("corners", "42")
    assert DEAL.convert("corners:a:b", None, None) == Deal("corners", "a:b")
    with pytest.raises(click.BadParameter, match="the seed is missing"):
        DEAL.convert("corners:", None, None)
    for text in ("corners", "corners:", ":42"):
        with pytest.raises(click.BadParameter, match="try corners:42"):
            DEAL.convert(text, None, None)


def test_names() -> None:
    assert NAME.convert(" Zoë ", None, None) == "Zoë"
    for text in ("", "a" * 25, "a\x1b[31mb"):
        with pytest.raises(click.BadParameter, match="A name"):
            NAME.convert(text, None, None)


def test_variants() -> None:
    assert VARIANT.convert("cap=off", None, None) == ("cap", False)
    assert VARIANT.convert("refill=waste", None, None) == ("refill", "waste")
    with pytest.raises(click.BadParameter, match="is not a valid variant"):
        VARIANT.convert("cap", None, None)


def test_addresses() -> None:
    assert server_address("localhost:8640/") == "http://localhost:8640"
    assert server_address("https://cards.example") == "https://cards.example"
    for text in ("", "ftp://host", "http://", "http://host:99999", "http://host?x"):
        with pytest.raises(Misused, match="is not a valid server address"):
            server_address(text)


def test_canonical_address_of_local_server_is_loopback() -> None:
    for host in ("127.0.0.1", "localhost", "[::1]", *own_addresses()):
        assert canonical_address(f"http://{host}:8640") == "http://127.0.0.1:8640"
    assert canonical_address("http://localhost") == "http://127.0.0.1"


@pytest.mark.parametrize("server", ["http://203.0.113.9:8640", "https://race.example", "http://race.example:81"])
def test_canonical_address_of_remote_server_is_unchanged(server: str) -> None:
    assert canonical_address(server) == server


def test_guest_is_recognised_by_all_local_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("samedeal_cli.addresses.own_addresses", lambda: ("192.0.2.7",))
    guests.save(Guest("http://127.0.0.1:8640", "ada", "p1", "token"))
    assert guests.credentials_of(Settings(), "http://192.0.2.7:8640", "ada").token == "token"
    assert guests.credentials_of(Settings(), "http://192.0.2.7:8641", "ada").token is None
    assert guests.credentials_of(Settings(), "http://192.0.2.8:8640", "ada").token is None

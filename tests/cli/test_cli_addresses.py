"""Server addresses: all addresses of a local server are equivalent."""

import pytest

from samedeal_cli.addresses import canonical_address, own_addresses
from samedeal_cli.net import guests
from samedeal_cli.net.guests import Guest
from samedeal_cli.settings import Settings


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

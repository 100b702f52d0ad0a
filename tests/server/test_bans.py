"""Subjects of bans: players, names and networks, and which clients they mean."""

from ipaddress import IPv4Network, IPv6Network, ip_network

import pytest

from samedeal.errors import Refused
from samedeal_server.store.bans import Ban, Bans, covers, subject_of

PLAYER = "0123456789abcdef"


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        (PLAYER, f"player:{PLAYER}"),
        (f"player:{PLAYER}", f"player:{PLAYER}"),
        (PLAYER.upper(), f"name:{PLAYER}"),
        (f"name:{PLAYER}", f"name:{PLAYER}"),
        ("203.0.113.7", "address:203.0.113.7/32"),
        ("203.0.113.7/24", "address:203.0.113.0/24"),
        ("2001:db8::7", "address:2001:db8::/64"),
        ("2001:db8:1::/48", "address:2001:db8:1::/48"),
        ("address:2001:db8::7/128", "address:2001:db8::/64"),
        ("name:203.0.113.7", "name:203.0.113.7"),
        ("  Straße ", "name:strasse"),
        ("ＥＶＥ", "name:eve"),
        ("10", "name:10"),
        ("a:b", "name:a:b"),
    ],
)
def test_text_means_a_subject(text: str, subject: str) -> None:
    assert subject_of(text) == subject
    assert subject_of(subject) == subject


@pytest.mark.parametrize("text", ["", " ", "player:eve", "address:eve", "name:", "x" * 25, "a\u202eb"])
def test_text_without_a_meaning_is_refused(text: str) -> None:
    with pytest.raises(Refused) as refused:
        subject_of(text)
    assert refused.value.code == "bad-request"


@pytest.mark.parametrize(
    ("subject", "client", "meant"),
    [
        (f"player:{PLAYER}", {"player": PLAYER, "name": "eve"}, True),
        (f"player:{PLAYER}", {"player": PLAYER[::-1], "name": PLAYER}, False),
        ("name:eve", {"player": PLAYER, "name": "ＥVE"}, True),
        ("name:eve", {"player": PLAYER, "name": "eve2"}, False),
        ("name:eve", {"address": "203.0.113.7"}, False),
        ("name:", {"address": "203.0.113.7"}, False),
        ("address:203.0.113.0/24", {"address": "203.0.113.7"}, True),
        ("address:203.0.113.0/24", {"address": "::ffff:203.0.113.7"}, True),
        ("address:203.0.113.0/24", {"address": "203.0.114.7"}, False),
        ("address:2001:db8::/64", {"address": "2001:db8::1:2:3:4"}, True),
        ("address:2001:db8::/64", {"address": "203.0.113.7"}, False),
        ("address:203.0.113.0/24", {"address": ""}, False),
        ("address:nowhere", {"address": "203.0.113.7"}, False),
    ],
)
def test_subject_covers_a_client(subject: str, client: dict[str, str], meant: bool) -> None:
    assert covers(subject, **client) is meant


def test_ban_is_in_force_until_it_ends_or_is_lifted() -> None:
    now = 0
    bans = Bans(lambda: now)
    for subject in ("address:203.0.113.0/24", "address:2001:db8::/64", "address:nowhere", "name:eve"):
        bans.add(Ban(subject, 1000))
    bans.add(Ban("name:eve", 2000, "again"))
    for address in ("203.0.113.7", "2001:db8::9"):
        with pytest.raises(Refused, match=r"^You are banned until 1970-01-01 00:00 UTC\.$"):
            bans.check_address(address)
    bans.check_address("203.0.114.7")
    bans.check_address("not an address")
    now = 1000
    bans.check_address("203.0.113.7")
    with pytest.raises(Refused, match=r"UTC: again$"):
        bans.check_guest(PLAYER, "Eve")
    assert [ban.subject for ban in bans] == ["name:eve"]
    bans.lift("name:eve")
    bans.check_guest(PLAYER, "Eve")


def test_a_ban_is_added_at_the_same_cost_after_many_others(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = list[str]()

    def counted(text: str, **options: bool) -> IPv4Network | IPv6Network:
        parsed.append(text)
        return ip_network(text, **options)

    monkeypatch.setattr("samedeal_server.store.bans.ip_network", counted)
    now = 0
    bans = Bans(lambda: now)
    for number in range(1, 500):
        now = number
        bans.add(Ban(f"address:203.0.{number // 256}.{number % 256}/32", number + 10))
        bans.add(Ban(f"name:{number}", number))
    assert len(parsed) < 3 * 500
    assert len(bans._bans) <= 100
    bans.lift("address:203.0.1.243/32")
    bans.check_address("203.0.1.243")
    with pytest.raises(Refused):
        bans.check_address("203.0.1.242")
    now = 1000
    bans.add(Ban("address:203.0.1.242/32", 1000))
    bans.check_address("203.0.1.242")

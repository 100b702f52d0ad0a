"""Commitments: every function against a second implementation of its specification and against a fixed value."""

import hmac
from collections.abc import Callable
from datetime import date
from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from samedeal.proof import commitments
from samedeal.proof.keyed_hash import BLOCK_BYTES, keyed_hash

KEY = bytes(range(32))
SECRET = bytes(range(100, 132))
NONCES = [bytes([1]) * 32, bytes([2]) * 32]
GAME, DATE = "corners", "2026-11-21"
RACE, SALT = "calm-otter-42", "00112233445566778899aabbccddeeff"
HEADER = b'{"game":"corners"}'
ENTRY = b'[1,1700000000000,{"t":"counting"}]'

some = settings(derandomize=True, deadline=None, max_examples=60)
thirty_two = st.binary(min_size=32, max_size=32)
races = st.from_regex("[a-z0-9-]{1,20}", fullmatch=True)
dates = st.dates(min_value=date(1970, 1, 1)).map(date.isoformat)


VALUES = {
    "secret": "c4c6671de3f16be00171ac2bf4ff449cea3d3755d7753d47fd126b18b59aa396",
    "commitment": "268fa1c5e962a91d7814ec7bab3ac6d62a12ba24e5892c801d1ed8e8917d7b42",
    "daily secret": "2deed3057cb89f2b908c0dea644bd666302794d60e0ec45ed529a4d7b388eb1b",
    "daily commitment": "84ba0f0e5f566605b5ac9fc64958d68082f4b23e25b8691582cc2a61e5c00315",
    "nonce": "aae469af2f0b53e9521a9633519d14e974a5b7f109a210cc9caf88d6111462cc",
    "root": "4721bbb4b1c1e9f7fe3faa186cacd1d4188d110861710f76769baf7dc1eb09c4",
    "first": "f5fab011cb854c105aa77f53282c531a60f99b9b013325c7d7348f6c8408e2a0",
    "next": "437153b9b8007b9074f20778da06ec189b20c9a816d7978a52ffe1f492c6f513",
}


def sha(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def mac(key: bytes, message: bytes) -> bytes:
    """HMAC-SHA256 as defined in RFC 2104."""
    key = key.ljust(64, b"\0")
    inner = sha256(bytes(byte ^ 0x36 for byte in key) + message).digest()
    return sha256(bytes(byte ^ 0x5C for byte in key) + inner).digest()


def test_the_secret_is_a_mac_of_race_and_salt() -> None:
    expected = mac(KEY, b"samedeal/1/secret|calm-otter-42|00112233445566778899aabbccddeeff")
    assert commitments.secret(KEY, RACE, SALT) == expected
    assert len(expected) == 32
    assert expected == hmac.new(KEY, f"samedeal/1/secret|{RACE}|{SALT}".encode(), "sha256").digest()


def test_the_commitment_is_a_hash_of_race_and_secret() -> None:
    assert commitments.commitment(RACE, SECRET) == sha(f"samedeal/1/commit|calm-otter-42|{SECRET.hex()}")


def test_the_secret_of_a_daily_deal_is_a_mac_of_game_and_date() -> None:
    expected = mac(KEY, b"samedeal/1/daily-secret|corners|2026-11-21")
    assert commitments.daily_secret(KEY, GAME, DATE) == expected
    assert len(expected) == 32


def test_the_commitment_of_a_daily_deal_is_a_hash_of_game_date_and_secret() -> None:
    assert commitments.daily_commitment(GAME, DATE, SECRET) == sha(
        f"samedeal/1/daily|corners|2026-11-21|{SECRET.hex()}"
    )


def test_a_nonces_commitment_is_a_hash_of_race_and_nonce() -> None:
    assert commitments.nonce_commitment(RACE, NONCES[0]) == sha(f"samedeal/1/nonce|calm-otter-42|{'01' * 32}")


@pytest.mark.parametrize(("nonces", "text"), [([], ""), (NONCES[:1], "01" * 32), (NONCES, "01" * 32 + "," + "02" * 32)])
def test_the_root_is_a_hash_of_the_secret_and_all_nonces(nonces: list[bytes], text: str) -> None:
    assert commitments.root(SECRET, nonces) == sha(f"samedeal/1/root|{SECRET.hex()}|{text}")
    assert commitments.root(SECRET, iter(nonces)) == commitments.root(SECRET, nonces)


def test_the_chain_starts_with_the_header_and_continues_with_each_entry() -> None:
    first = mac(SECRET, b"samedeal/1/log|" + HEADER).hex()
    assert commitments.first_digest(SECRET, HEADER) == first
    assert commitments.next_digest(SECRET, first, ENTRY) == mac(SECRET, first.encode() + b"|" + ENTRY).hex()


def test_published_check_values() -> None:
    assert {
        "secret": commitments.secret(KEY, RACE, SALT).hex(),
        "commitment": commitments.commitment(RACE, SECRET),
        "daily secret": commitments.daily_secret(KEY, GAME, DATE).hex(),
        "daily commitment": commitments.daily_commitment(GAME, DATE, SECRET),
        "nonce": commitments.nonce_commitment(RACE, NONCES[0]),
        "root": commitments.root(SECRET, NONCES),
        "first": commitments.first_digest(SECRET, HEADER),
        "next": commitments.next_digest(SECRET, commitments.first_digest(SECRET, HEADER), ENTRY),
    } == VALUES


@some
@given(st.data())
def test_every_input_changes_the_hash(data: st.DataObject) -> None:
    functions: list[tuple[Callable[..., object], tuple[st.SearchStrategy[object], ...]]] = [
        (commitments.secret, (thirty_two, races, races)),
        (commitments.commitment, (races, thirty_two)),
        (commitments.daily_secret, (thirty_two, races, dates)),
        (commitments.daily_commitment, (races, dates, thirty_two)),
        (commitments.nonce_commitment, (races, thirty_two)),
        (commitments.root, (thirty_two, st.lists(thirty_two, max_size=3))),
        (commitments.first_digest, (thirty_two, st.binary(max_size=40))),
        (commitments.next_digest, (thirty_two, st.from_regex("[0-9a-f]{64}", fullmatch=True), st.binary(max_size=40))),
    ]
    for function, strategies in functions:
        one = [data.draw(strategy) for strategy in strategies]
        at = data.draw(st.integers(0, len(one) - 1))
        other = [*one[:at], data.draw(strategies[at]), *one[at + 1 :]]
        assert (function(*one) == function(*other)) == (one == other)


@some
@given(races, thirty_two)
def test_hashes_of_different_kinds_never_collide(race: str, secret: bytes) -> None:
    seals = [
        commitments.secret(secret, race, "0" * 32).hex(),
        commitments.commitment(race, secret),
        commitments.daily_secret(secret, race, DATE).hex(),
        commitments.daily_commitment(race, DATE, secret),
        commitments.nonce_commitment(race, secret),
        commitments.root(secret, [secret]),
        commitments.first_digest(secret, race.encode()),
        commitments.next_digest(secret, "0" * 64, race.encode()),
    ]
    assert len(set(seals)) == len(seals)


@some
@given(key=st.binary(max_size=BLOCK_BYTES), messages=st.lists(st.binary(max_size=200), max_size=3))
def test_keyed_hashes_equal_hmac(key: bytes, messages: list[bytes]) -> None:
    for message in messages:
        assert keyed_hash(key, message) == hmac.new(key, message, "sha256").hexdigest()

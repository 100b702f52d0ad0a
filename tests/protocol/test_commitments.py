"""Commitments: every function against a second implementation of its specification and against a fixed value."""

import hmac
from hashlib import sha256

from hypothesis import given, settings
from hypothesis import strategies as st

from samedeal import commitments, digest_chain
from samedeal.digest_chain import BLOCK_BYTES, keyed_hash

KEY = bytes(range(32))
SECRET = bytes(range(100, 132))
NONCES = [bytes([1]) * 32, bytes([2]) * 32]
GAME, DATE = "corners", "2026-11-21"
RACE, SALT = "calm-otter-42", "00112233445566778899aabbccddeeff"
HEADER = b'{"game":"corners"}'
ENTRY = b'[1,1700000000000,{"t":"counting"}]'

VALUES = {
    "secret": "c4c6671de3f16be00171ac2bf4ff449cea3d3755d7753d47fd126b18b59aa396",
    "commitment": "268fa1c5e962a91d7814ec7bab3ac6d62a12ba24e5892c801d1ed8e8917d7b42",
    "daily secret": "2deed3057cb89f2b908c0dea644bd666302794d60e0ec45ed529a4d7b388eb1b",
    "daily commitment": "84ba0f0e5f566605b5ac9fc64958d68082f4b23e25b8691582cc2a61e5c00315",
    "nonce": "aae469af2f0b53e9521a9633519d14e974a5b7f109a210cc9caf88d6111462cc",
    "server bot": "ace56e7415d684e5ff4971d3d2fa01ffb3b7ad569988753937d8a9db73d45b1f",
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


def test_every_function_follows_its_specification_and_has_its_published_value() -> None:
    first = mac(SECRET, b"samedeal/1/log|" + HEADER).hex()
    root = ",".join(nonce.hex() for nonce in NONCES)
    specified = {
        "secret": mac(KEY, f"samedeal/1/secret|{RACE}|{SALT}".encode()).hex(),
        "commitment": sha(f"samedeal/1/commit|{RACE}|{SECRET.hex()}"),
        "daily secret": mac(KEY, f"samedeal/1/daily-secret|{GAME}|{DATE}".encode()).hex(),
        "daily commitment": sha(f"samedeal/1/daily|{GAME}|{DATE}|{SECRET.hex()}"),
        "nonce": sha(f"samedeal/1/nonce|{RACE}|{NONCES[0].hex()}"),
        "server bot": sha(f"samedeal/1/server-bot|{SECRET.hex()}|{RACE}|2"),
        "root": sha(f"samedeal/1/root|{SECRET.hex()}|{root}"),
        "first": first,
        "next": mac(SECRET, first.encode() + b"|" + ENTRY).hex(),
    }
    computed = {
        "secret": commitments.secret(KEY, RACE, SALT).hex(),
        "commitment": commitments.commitment(RACE, SECRET),
        "daily secret": commitments.daily_secret(KEY, GAME, DATE).hex(),
        "daily commitment": commitments.daily_commitment(GAME, DATE, SECRET),
        "nonce": commitments.nonce_commitment(RACE, NONCES[0]),
        "server bot": commitments.server_bot_words(SECRET, RACE, 2),
        "root": commitments.root(SECRET, NONCES),
        "first": digest_chain.first_digest(SECRET, HEADER),
        "next": digest_chain.next_digest(SECRET, first, ENTRY),
    }
    assert computed == specified == VALUES
    assert commitments.root(SECRET, ()) == sha(f"samedeal/1/root|{SECRET.hex()}|")


@settings(derandomize=True, max_examples=60)
@given(key=st.binary(max_size=BLOCK_BYTES), messages=st.lists(st.binary(max_size=200), max_size=3))
def test_keyed_hashes_equal_hmac(key: bytes, messages: list[bytes]) -> None:
    for message in messages:
        assert keyed_hash(key, message) == hmac.new(key, message, "sha256").hexdigest()

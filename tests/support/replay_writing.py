"""Writes replays from docs/bots/replay-format.md alone: every form, digests and signatures. Imports nothing of ours.

The contents are those that JSON decodes to, and may be invalid.
"""

import json
import re
from datetime import UTC, datetime
from hashlib import sha256
from hmac import digest as hmac_digest
from importlib import import_module
from random import Random
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

Content = dict[str, Any]
DAY_MS = 86_400_000
FILTERS_2 = ("certified/1", "easy/1", "medium/1", "hard/1", "brutal/1")
"""The filters that came with the second format."""
_msgpack: Any = import_module("msgpack")  # it has no type hints
_ORDER = re.findall(
    r"\w+",
    "t format header entries digest signature standings key value race game rules variant place seat player name bot "
    "seed daily commitment by salt opened_at options follows ghosts head_start heat club outcome done home goal "
    "progress limit_ms max_racers start_delay_ms undo attempts ms spectators filter unlisted finishers best_of "
    "end_when_stuck challenge deal nonce until reveals_at h k move secret",
)
"""The fields of all maps in the order of MessagePack."""


def canonical(value: Any) -> str:
    return _shortest(json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True))


def _shortest(text: str) -> str:
    """Return JSON with exponents as in 1e16 and 1e-5. Only progress can have one."""
    return re.sub(r'("progress": ?-?[\d.]+e)(?:\+|(-))0*', r"\1\2", text)


def in_json(content: Content) -> bytes:
    return canonical(content).encode()


def in_lines(content: Content) -> bytes:
    """Return a replay as NDJSON."""
    head = {name: content[name] for name in content.keys() & {"format", "header"}}
    foot = {name: content[name] for name in content.keys() - {"format", "header", "entries"}}
    entries = content.get("entries")
    return "".join(f"{canonical(line)}\n" for line in (head, *(entries or ()), foot)).encode()


def in_messagepack(content: Content) -> bytes:
    packed: bytes = _msgpack.packb(_ordered(content))
    return packed


def _ordered(value: Any) -> Any:
    if isinstance(value, list):
        return [_ordered(item) for item in value]
    if isinstance(value, dict):
        known = sorted(value.keys() & set(_ORDER), key=_ORDER.index)
        return {name: _ordered(value[name]) for name in (*known, *(value.keys() - set(_ORDER)))}
    return value


def in_loose_json(content: Content, random: Random) -> bytes:
    """Return a replay as JSON with white space, escapes, and fields in any order."""
    text = _shortest(json.dumps(_shuffled(content, random), indent=random.choice((None, 1, "\t"))))
    return random.choice((b"", b" ", b"\n")) + text.encode() + random.choice((b"", b"\r\n"))


def _shuffled(value: Any, random: Random) -> Any:
    if isinstance(value, list):
        return [_shuffled(item, random) for item in value]
    if isinstance(value, dict):
        return {name: _shuffled(value[name], random) for name in random.sample(list(value), len(value))}
    return value


def tagged_hash(tag: str, *parts: str) -> str:
    return sha256("|".join((f"samedeal/1/{tag}", *parts)).encode()).hexdigest()


def commitment(header: dict[str, Any], secret: str) -> str:
    """Return the header's commitment to a secret."""
    if "daily" in header:
        date = datetime.fromtimestamp(header["opened_at"] // 1000, UTC).date().isoformat()
        return tagged_hash("daily", header["game"], date, secret)
    return tagged_hash("commit", header.get("heat", {}).get("challenge", header["race"]), secret)


def format_for(header: dict[str, Any]) -> str:
    """Return the format that a header needs."""
    options = header["options"]
    if {"heat", "club"} & set(header):
        return "samedeal.replay/4"
    if "head_start" in header or "end_when_stuck" in options:
        return "samedeal.replay/3"
    new = {"follows", "ghosts"} & set(header) or {"finishers", "best_of"} & set(options)
    return f"samedeal.replay/{2 if new or options.get('filter') in FILTERS_2 else 1}"


def commit(content: Content, secret: str) -> None:
    """Make the commitments fit the secret and the nonces."""
    content["header"]["commitment"] = commitment(content["header"], secret)
    events = [entry[2] for entry in content["entries"]]
    nonces = {event["seat"]: event["nonce"] for event in events if event["t"] == "nonce"}
    for event in events:
        if event["t"] == "joined" and event["seat"] in nonces:
            event["commitment"] = tagged_hash("nonce", content["header"]["race"], nonces[event["seat"]])


def chain(content: Content, secret: str) -> None:
    """Compute all digests, from the entries as they are."""
    key, text = bytes.fromhex(secret), f"samedeal/1/log|{canonical(content['header'])}"
    digest = hmac_digest(key, text.encode(), "sha256").hex()
    for entry in content["entries"]:
        digest = hmac_digest(key, f"{digest}|{canonical(entry[:3])}".encode(), "sha256").hex()
        entry[3] = digest
    content["digest"] = digest


def sign(content: Content, private_key: bytes, tag: str = "replay") -> None:
    """Sign the digest of a replay."""
    key = Ed25519PrivateKey.from_private_bytes(private_key)
    value = key.sign(f"samedeal/1/{tag}|{content['header']['race']}|{content['digest']}".encode())
    content["signature"] = {"key": key.public_key().public_bytes_raw().hex(), "value": value.hex()}


def renumber(content: Content) -> None:
    """Number the entries, and raise times that are earlier than the previous one."""
    latest = content["header"]["opened_at"]
    for number, entry in enumerate(content["entries"], start=1):
        entry[0], entry[1] = number, (latest := max(latest, entry[1]))

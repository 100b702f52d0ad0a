"""Fuzzing of all decoders and of a server: randomly changed input is either read or refused.

FUZZ_INPUTS sets the number of inputs and FUZZ_SEED their seed (``make fuzz``).
"""

import os
import resource
import socket
import struct
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from io import BytesIO
from random import Random
from typing import Any

import pytest

from protocol.test_codec import FORMS, REPLIES, REQUESTS
from samedeal import codec
from samedeal.errors import Malformed, Refused
from samedeal.games.catalogue import GAMES
from samedeal.names import normalised
from samedeal.proof import receipts
from samedeal.proof.verification import verify
from samedeal.race.events import Entry, Header
from samedeal.replays.replay import Replay, ReplayLines, read
from samedeal.wire import decoding
from samedeal_server.addresses import network
from support.finished_races import finished
from support.hostile_client import Hostile, frame, memory
from support.logged_server import LoggedServer, Undelayed, written

pytestmark = pytest.mark.tier(3)

INPUTS = int(os.environ.get("FUZZ_INPUTS", "60000"))
SEED = int(os.environ.get("FUZZ_SEED", "1"))
SLOW_S = 20.0
"""Maximum time for one input, even on a busy machine (s)."""

REPLAYS = [finished(slug, moves=6) for slug in GAMES]
LINES = [b"".join(replay.lines()) for replay in REPLAYS]
PIECES = [
    *(b"0", b"-1", b"1e999", b"NaN", b"null", b"true", b"18446744073709551616", b"9007199254740993", b'"', b"\\u0000"),
    *(b"\\ud800", b"[" * 300, b'{"":' * 300, b"{}", b"[]", b",", b"\n", b"\r\n", b"\0", b"\xff\xfe", b"\xc0\x80"),
    *(b"\xed\xa0\x80", b"%00", b"%ff", b"..", b"/", b"?", b"&", b"|", b"\xe2\x80\xae", b"\xdf\xff\xff\xff\xff"),
    *(
        b"\xdd\xff\xff\xff\xff",
        b"\xc6\xff\xff\xff\xff",
        b"\xc1",
        b"\xd6\xff\0\0\0\0",
        b"\x91" * 300,
        b"\xcb" + b"\x7f" * 8,
    ),
]


def changed(good: Sequence[bytes], random: Random) -> bytes:
    """Return a valid input with a few changes, or random bytes."""
    if random.random() < 0.03:
        return random.randbytes(random.randrange(200))
    data = bytearray(random.choice(good))
    for _ in range(random.choice((1, 1, 1, 2, 3, 8))):
        at = random.randrange(len(data) + 1)
        until = min(len(data), at + random.choice((1, 1, 2, 5, 20, 100)))
        match random.randrange(8):
            case 0 if data:
                data[at % len(data)] ^= 1 << random.randrange(8)
            case 1 if data:
                data[at % len(data)] = random.randrange(256)
            case 2:
                del data[at:until]
            case 3:
                data[at:at] = data[at:until] * random.choice((1, 2, 50))
            case 4:
                data[at:until] = random.choice(PIECES)
            case 5:
                data[at:at] = random.choice(PIECES)
            case 6:
                other = random.choice(good)
                start = random.randrange(len(other) + 1)
                data[at:until] = other[start : start + random.randrange(60)]
            case _:
                del data[at:]
    return bytes(data)


def verified(data: bytes) -> None:
    """Read and verify a replay. Only replays equal to a valid one may pass."""
    replay = read(data)
    assert all(fact.holds for fact in verify(replay)) == (replay in REPLAYS)
    for form in ("json", "msgpack"):
        codec.encode(replay, form)


def verified_in_lines(data: bytes) -> None:
    """Read and verify a replay in lines. Only canonical bytes may pass."""
    facts = verify(ReplayLines(BytesIO(data)))
    assert all(fact.holds for fact in facts) == (data in LINES)


def dealt(data: bytes) -> None:
    """Read a deal code, as in a URL."""
    slug, _, seed = data.decode("utf-8", "replace").partition(":")
    game = GAMES.get(slug, GAMES["corners"])
    try:
        piles = game.from_seed(seed).table.piles
    except ValueError:
        return  # the server raises Refused("bad-request") for it
    assert Counter(game.pack()) <= Counter(card for pile in piles.values() for card in pile)


def named(data: bytes) -> None:
    normalised(data.decode("utf-8", "surrogateescape"))


def kept(replay: Replay) -> bytes:
    """Read the receipts of a racer."""
    digests = [receipts.line(receipts.DigestReceipt(entry.n, entry.h)) for entry in replay.entries[:4]]
    header, nonce = (
        receipts.line(receipts.HeaderReceipt(replay.header)),
        receipts.line(receipts.NonceReceipt(1, "0f" * 32)),
    )
    return b"".join([header, *digests, nonce])


DECODERS: dict[str, tuple[Callable[[bytes], object], list[bytes]]] = {
    "headers": (
        partial(codec.decode, form="json", kind=Header),
        [codec.encode(replay.header, "json") for replay in REPLAYS],
    ),
    "entries": (
        partial(codec.decode, form="json", kind=Entry),
        [codec.encode(entry, "json") for replay in REPLAYS for entry in replay.entries],
    ),
    "replays in json": (verified, [codec.encode(replay, "json") for replay in REPLAYS]),
    "replays in msgpack": (verified, [codec.encode(replay, "msgpack") for replay in REPLAYS]),
    "replays in lines": (verified_in_lines, LINES),
    "receipts": (lambda data: receipts.read(BytesIO(data)), [kept(replay) for replay in REPLAYS]),
    "deal codes": (dealt, [f"{slug}:{seed}".encode() for slug in GAMES for seed in ("1", "x" * 128, "Zoë", "7|8")]),
    "names": (named, [b"Ada", "Zoë O’Neil 王".encode(), "e\u0323\u0302".encode()]),
    "addresses": (lambda data: network(data.decode("latin-1")), [b"10.0.0.1", b"2001:db8::1", b"fe80::1%eth0"]),
}
for form in FORMS:
    requests, replies = ([codec.encode(message, form) for message in told] for told in (REQUESTS, REPLIES))
    DECODERS[f"requests in {form}"] = (partial(decoding.decode_to_server, form=form), requests)
    DECODERS[f"numbers in {form}"] = (partial(decoding.number, form=form), requests)
    DECODERS[f"replies in {form}"] = (partial(decoding.decode_from_server, form=form), replies)
SHARE = {"replays": 0.15, "deal": 0.3}
"""The share of inputs for slow decoders."""


@pytest.mark.parametrize("name", DECODERS)
def test_decoder_survives_any_bytes(name: str) -> None:
    """Only refusals are raised, no input takes long, and no memory leaks."""
    decode, good = DECODERS[name]
    for data in good:
        decode(data)
    random = Random(f"{SEED} {name}")
    count = max(200, int(INPUTS / len(DECODERS) * SHARE.get(name.split()[0], 1.3)))
    before, refused, slowest_s = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, 0, 0.0
    for number in range(count):
        data = changed(good, random)
        began = time.process_time()
        try:
            decode(data)
        except (Refused, Malformed):
            refused += 1
        except Exception as error:
            pytest.fail(f"input {number} of seed {SEED}: {data!r}: {error!r}")
        slowest_s = max(slowest_s, time.process_time() - began)
    assert refused > count // 100 or name in ("addresses", "deal codes") or name.startswith("numbers")
    assert slowest_s < SLOW_S
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000, "kB"
    print(f"{name}: {count} inputs, {refused} refused, {slowest_s * 1000:.1f} ms at most")


@pytest.fixture(scope="module")
def server(store_url: str, tmp_path_factory: pytest.TempPathFactory) -> Any:
    log = tmp_path_factory.mktemp("fuzz") / "log"
    limits = {"connections_per_address": "0", "request_s": "2", "unread_s": "2"}
    with Undelayed(store_url, log, emptied=True, **limits).start() as running:
        yield running


def unharmed(server: LoggedServer, before: int) -> None:
    assert server.failures() == []
    assert server.get("/readyz") == (200, b"ready\n")
    assert memory(server) - before < 50_000, "kB"  # it grows by 33 MB at first, and then no more


def odd_frame(random: Random, good: Sequence[bytes]) -> bytes:
    """Return a frame that may be malformed."""
    if random.random() < 0.5:
        return frame(random.choice((1, 1, 1, 2, 8, 9, 10, 0)), changed(good, random)[: random.choice((125, 4096))])
    length, stated = random.choice((0, 1, 5, 125, 126, 127)), random.choice((0, 125, 4097, 65_535, 2**63, 2**64 - 1))
    head = bytes([random.randrange(256), random.choice((0x80, 0x80, 0)) | length])
    more = struct.pack("!H", stated & 65_535) if length == 126 else struct.pack("!Q", stated) if length == 127 else b""
    return head + more + random.randbytes(random.randrange(140))


def test_server_survives_any_frames(server: LoggedServer) -> None:
    random, good = Random(SEED), [codec.encode(request, "json") for request in REQUESTS]
    race = server.create("corners", seed="1")
    good += [written({"t": kind, "id": 3, "race": race}, "json") for kind in ("join", "watch")]
    before, frames = memory(server), 0
    while frames < INPUTS // 20:
        with Hostile.shaken(server) as eve:
            data = [frame(1, b'{"t":"hello","id":1,"name":"eve"}')] * random.randrange(2)
            data += [odd_frame(random, good) for _ in range(random.randrange(1, 25))]
            frames += len(data)
            eve.flood(b"".join(data), 1)
            eve.socket.settimeout(0.02)
            try:
                eve.rest()
            except TimeoutError:
                continue
    unharmed(server, before)


TARGETS = [
    *("/", "/healthz", "/readyz", "/api/v1/games", "/api/v1/games/corners", "/api/v1/races?stage=open&limit=3", "/ws"),
    *("/api/v1/races/calm-otter-42", "/api/v1/races/calm-otter-42/par?seat=1", "/api/v1/deals/corners:1/par?cap=false"),
    *("/api/v1/daily", "/api/v1/daily/2026-11-21/corners", "/api/v1/replays?game=corners&limit=5&before=x&player=a"),
    *("/api/v1/replays/calm-otter-42.ndjson", "/api/v1/deals/corners%3A1/par/0", "/.well-known/samedeal", "/page.js"),
    *("/r/calm-otter-42", "/rules/corners", "/problems/malformed", "/api/v1/verify?key=" + "0f" * 32),
]


def test_server_survives_any_request(server: LoggedServer) -> None:
    """Every request has a response other than an internal error, or the connection is closed."""
    random = Random(SEED + 1)
    bodies = [
        b'{"game":"corners","options":{"limit_ms":600000,"max_racers":2}}',
        b'{"game":"the-edge","seed":"5","variant":{"refill":"waste"}}',
        b'{"game":"gallery","daily":true,"options":{"unlisted":true}}',
    ]
    before, answered = memory(server), 0
    for number in range(INPUTS // 40):
        target = changed([target.encode() for target in TARGETS], random).translate(None, b" \r\n")
        if number % 2:
            body = changed(bodies, random)
            target = random.choice((b"/api/v1/races", b"/api/v1/races", target))
        else:
            body = b""
        method = random.choice((b"GET", b"GET", b"HEAD", b"DELETE", b"G\x01T")) if not body else b"POST"
        lines = [
            method + b" " + target + b" HTTP/1.1",
            b"Host: " + random.choice((b"a", b"", b"\xff", b"a:b:c", b"[::1")),
            b"Connection: close",
            b"Content-Length: " + str(len(body)).encode(),
            random.choice(
                (b"Accept: text/html", b"Accept: " + random.randbytes(9).hex().encode(), b"If-None-Match: *")
            ),
        ]
        data = b"\r\n".join(lines) + b"\r\n\r\n" + body
        if random.random() < 0.2:
            data = changed([data], random)
        with Hostile(server) as eve:
            eve.flood(data, 1)
            with suppress(OSError):  # the server may have closed the connection
                eve.socket.shutdown(socket.SHUT_WR)
            answer = eve.rest()
        status = answer[9:12]
        assert answer == b"" or (answer.startswith(b"HTTP/1.1 ") and status.isdigit()), (data, answer)
        assert not status.startswith(b"5"), (SEED, data, answer)
        answered += bool(answer)
    assert answered > INPUTS // 100
    unharmed(server, before)


def test_random_changes_are_reproducible() -> None:
    """So that findings can be reproduced."""
    good = [written({"t": "ping", "id": 1}, "json")]
    one, other = ([changed(good, random) for _ in range(50)] for random in (Random(3), Random(3)))
    assert one == other
    assert len(set(one)) > 30

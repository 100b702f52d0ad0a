"""Mutations of replays: each function yields some kinds of them, random or systematic."""

from collections.abc import Callable, Iterator
from functools import cache
from random import Random
from typing import Any, NamedTuple

import msgspec

from samedeal.games.catalogue import GAMES
from samedeal.proof.commitments import commitment, first_digest, nonce_commitment
from samedeal.proof.receipts import DigestReceipt, NonceReceipt, Receipts
from samedeal.proof.signature import Signature, public_key, signed
from samedeal.race.events import header_bytes
from samedeal.replays.replay import Replay
from support.finished_races import SECRET, SIGNING_KEY
from support.replay_fields import Path
from support.rewritten_replays import OTHER_SECRET, commitment_of, rewritten_replays
from support.tampered_replays import (
    DAY_MS,
    FORMS,
    LATER,
    UNREADABLE,
    VARIANTS,
    Expected,
    Form,
    Subject,
    backwards,
    broken_at,
    encoded,
    expected_of,
    expected_of_bytes,
    put,
)

OUR_KEY = public_key(SIGNING_KEY)
THEIR_SIGNING_KEY = bytes(range(64, 96))
"""A key that is not the server's."""


class Mutation(NamedTuple):
    """A replay as bytes, with its expected failures."""

    kind: str
    what: str
    form: Form
    data: bytes
    expected: Expected
    path: Path = ()
    """The path of the changed value, if there is one."""
    keys: tuple[str, ...] = ()
    receipts: Receipts | None = None


@cache
def mutations(race: Subject, seed: int) -> tuple[Mutation, ...]:
    """Return all mutations of a race for a seed."""
    random = Random(f"{seed} {race.name}")
    return tuple(mutation for make in MAKERS for mutation in make(race, random))


def _whole(kind: str, what: str, random: Random, content: Any, expected: Expected, **more: Any) -> Mutation:
    """Return a mutation in a random format that can encode it."""
    form = random.choice(FORMS if expected is not UNREADABLE else ("json", "lines"))
    return Mutation(kind, what, form, encoded(content, form), expected, **more)


def _values(kind: str, race: Subject, random: Random, path: Path, *values: Any) -> Iterator[Mutation]:
    """Replace a value with each of `values`, or remove it if None."""
    now = race.content
    for step in path:
        now = now.get(step) if isinstance(now, dict) else now[step]
    for value in values:
        if value != now:
            expected, content = expected_of(race, path, value), put(race.content, path, value)
            yield _whole(kind, f"{path} is {value!r}", random, content, expected, path=path)


def _other_hex(random: Random, text: str) -> str:
    """Return a hexadecimal text with one changed digit."""
    at = random.randrange(len(text))
    return f"{text[:at]}{random.choice([digit for digit in '0123456789abcdef' if digit != text[at]])}{text[at + 1 :]}"


# Bytes, and values anywhere.


def one_byte(race: Subject, random: Random) -> Iterator[Mutation]:
    """Change one byte, half of the time to a hexadecimal digit."""
    for form in FORMS:
        data, count = encoded(race.content, form), 0
        while count < 20:
            position, changed = random.randrange(len(data)), bytearray(data)
            changed[position] = random.choice(b"0123456789abcdef") if count % 2 else random.randrange(256)
            expected = expected_of_bytes(race, bytes(changed), form) if changed != data else None
            if expected:
                count += 1
                what = f"byte {position} is {changed[position]} for {data[position]}"
                yield Mutation(f"one byte, {form}", what, form, bytes(changed), expected)


def header(race: Subject, random: Random) -> Iterator[Mutation]:
    """Change, remove or add each field of the header."""
    slug, head = race.replay.header.game, race.replay.header
    other = random.choice([game for game in GAMES if game != slug])
    values: dict[str, tuple[Any, ...]] = {
        "race": (f"{head.race}-2", "calm-otter-42", "Calm"),
        "game": (other, "poker"),
        "rules": (f"{slug}/2", GAMES[other].rules),
        "variant": ({"cls": True}, {"seed": "x"}, VARIANTS.get(slug, {"refill": "moon"})),
        "seed": ("42", "a|b"),
        "daily": (True, False),
        "commitment": (_other_hex(random, head.commitment), commitment("other-race", SECRET)),
        "salt": (random.randbytes(16).hex(), "00"),
        "opened_at": (head.opened_at - 1, head.opened_at - DAY_MS, race.time(1) + 1, race.time(1) + DAY_MS, 0),
        "follows": ("first-race", "A"),
        "ghosts": (["first-race"], []),
    }
    for field, others in values.items():
        yield from _values("header", race, random, ("header", field), *others, None)
    yield from _values("header", race, random, ("header", "options"), None)
    game = put(race.content, ("header", "game"), other)
    game["header"]["rules"] = GAMES[other].rules
    expected = Expected({"chain": 1}, may=LATER)
    if race.kind == "daily":
        expected = Expected({"commitment": race.last})
    elif "variant" in game["header"]:
        expected = Expected({"rules": None})
    yield _whole("header", f"another game, {other}, with its rules", random, game, expected)


def options(race: Subject, random: Random) -> Iterator[Mutation]:
    """Change, remove or add each option."""
    values: dict[str, tuple[Any, ...]] = {
        "limit_ms": (race.replay.header.options.limit_ms + 1, 7_200_000, 1_000, 7_200_001, 999),
        "max_racers": (9, 32, 2, 33, 0),
        "start_delay_ms": (60_000, 799, 60_001),
        "undo": (False, True),
        "attempts": (1, 2, 1_000, 1_001),
        "spectators": ("after", "open", "nobody"),
        "filter": ("friendly/1", "friendly/2"),
        "unlisted": (True, False),
        "finishers": ("won", "none", "all", "some"),
        "best_of": (1, 3, 4),
    }
    for field, others in values.items():
        yield from _values("options", race, random, ("header", "options", field), *others, None)


def standings(race: Subject, random: Random) -> Iterator[Mutation]:
    """Change each field of the standings; remove, duplicate or reorder racers."""
    table = race.content["standings"]
    for field, value in table[0].items():
        other = not value if isinstance(value, bool) else f"{value}x" if isinstance(value, str) else value + 3
        yield from _values("standings", race, random, ("standings", 0, field), other)
    yield from _values("standings", race, random, ("standings", 1, random.choice(sorted(table[0]))), None)
    for changed in ([], table[:1], [*table, table[-1]], table[::-1]):
        content = {**race.content, "standings": changed}
        yield _whole("standings", f"{len(changed)} racers", random, content, Expected({"standings": None}))


# Entries.


def order(race: Subject, random: Random) -> Iterator[Mutation]:
    """Drop, swap, repeat or insert entries, with or without renumbering."""
    entries, numbers = race.content["entries"], range(1, race.last)

    def laid(kind: str, what: str, changed: list[Any], n: int, **must: int | None) -> Iterator[Mutation]:
        content = {**race.content, "entries": changed}
        must |= backwards(content)
        yield _whole(kind, what, random, content, broken_at(n, changed[n - 1][2], numbers=n, **must))
        renumbered = {**content, "entries": [[number, *entry[1:]] for number, entry in enumerate(changed, start=1)]}
        yield _whole(f"{kind}, numbered anew", what, random, renumbered, broken_at(n, changed[n - 1][2], **must))

    for n in random.sample(numbers, 6):
        yield from laid("dropped", f"entry {n}", entries[: n - 1] + entries[n:], n)
    for n in random.sample(numbers[:-1], 6):
        changed = [*entries[: n - 1], entries[n], entries[n - 1], *entries[n + 1 :]]
        yield from laid("swapped", f"entries {n} and {n + 1}", changed, n)
    for n in random.sample(numbers, 5):
        yield from laid("repeated", f"entry {n}", entries[:n] + entries[n - 1 :], n + 1)
    for n in random.sample(numbers[:-1], 2):
        changed = [*entries[:n], entries[-1], *entries[n:]]
        yield from laid("closed", f"after entry {n} too", changed, n + 1, complete=n + 1)


def cut(race: Subject, random: Random) -> Iterator[Mutation]:
    """Remove the end of the log, with or without a new digest and signature."""
    for n in {0, race.last - 1, *random.sample(range(race.last), 3)}:
        content = {**race.content, "entries": race.content["entries"][:n]}
        yield _whole("cut", f"after entry {n}", random, content, Expected({"complete": n}))
        if n:
            digest = content["entries"][-1][3]
            ours = msgspec.to_builtins(signed(SIGNING_KEY, race.name, digest))
            content |= {"digest": digest, "signature": ours}
            yield _whole("cut", f"after entry {n}, and signed", random, content, Expected({"complete": n}))


def parts(race: Subject, random: Random) -> Iterator[Mutation]:
    """Change numbers, times, digests and whole events."""
    numbers = range(1, race.last + 1)
    for n in random.sample(numbers, 4):
        others = (1, n + 1, race.last, 2**53 - 1, 0)
        yield from _values("number", race, random, ("entries", n - 1, 0), random.choice(others))
        digest = _other_hex(random, race.replay.entries[n - 1].h)
        yield from _values("digest", race, random, ("entries", n - 1, 3), digest)
    for n in random.sample(numbers, 8):
        at = race.time(n) + random.choice((-3_600_000, -1_000, -1, 1, 1_000, 3_600_000))
        yield from _values("redated", race, random, ("entries", n - 1, 1), at)
    yield from _values("digest", race, random, ("digest",), _other_hex(random, race.replay.digest), "0" * 63)
    for n in random.sample(numbers[:-1], 3):
        seat = race.event(n).get("seat", 1)
        kinds = {"left", "readied", "unreadied", "taken", "resigned", "counting"} - {race.event(n)["t"]}
        kind = random.choice(sorted(kinds))
        other = {"t": kind} | ({"seat": seat} if kind != "counting" else {})
        content = put(race.content, ("entries", n - 1, 2), other)
        yield _whole("event", f"entry {n} is {other}", random, content, broken_at(n, other))


def seats(race: Subject, random: Random) -> Iterator[Mutation]:
    """Change the players of seats and the seats of entries."""

    def values(n: int, field: str, *values: Any) -> Iterator[Mutation]:
        return _values("seat", race, random, ("entries", n - 1, 2, field), *values)

    for n in race.numbers("joined"):
        seat = race.event(n)
        yield from values(n, "name", random.choice(("eve", "Ada", "", "x" * 49, f"{seat['name']} ")))
        yield from values(n, "player", random.choice(("player-9", f"player-{n % 3 + 1}", "")))
        yield from values(n, "bot", *((None,) if seat.get("bot") else (True, False)))
        yield from values(n, "seat", random.choice((0, 1, 2, 3, 4, 2**20)))
        yield from values(n, "by", random.choice((random.randbytes(8).hex(), "0" * 15, None)))
    others = race.numbers("left", "readied", "unreadied", "moved", "resigned", "taken", "nonce")
    for n in random.sample(others, 5):
        yield from values(n, "seat", random.choice((1, 2, 3, 9, 0, 2**20)))


def seals(race: Subject, random: Random) -> Iterator[Mutation]:
    """Change nonces, commitments, the secret and the number of the deal."""

    def values(n: int, field: str, *values: Any) -> Iterator[Mutation]:
        return _values(field, race, random, ("entries", n - 1, 2, field), *values)

    for n in race.numbers("nonce"):
        nonce = race.event(n)["nonce"]
        yield from values(n, "nonce", _other_hex(random, nonce), "0" * 64, nonce[1:], None)
        joined, other = race.event(n)["seat"], random.randbytes(32)
        content = put(race.content, ("entries", n - 1, 2, "nonce"), other.hex())
        content["entries"][joined - 1][2]["commitment"] = nonce_commitment(race.name, other)
        expected = Expected({"chain": joined}, may=frozenset({"filter", "moves", "standings"}))
        yield _whole("nonce", f"another in entry {n}, and the commitment to it", random, content, expected)
    for n in race.numbers("joined"):
        if promise := race.event(n).get("commitment"):
            yield from values(n, "commitment", _other_hex(random, promise), promise.upper(), None)
    (dealt,) = race.numbers("dealt")
    yield from values(dealt, "k", race.event(dealt).get("k", 0) + 1, 0, -1, None)
    yield from values(race.last, "secret", _other_hex(random, SECRET.hex()), OTHER_SECRET.hex(), None)
    content = put(race.content, ("entries", race.last - 1, 2, "secret"), OTHER_SECRET.hex())
    content["header"]["commitment"] = commitment_of(race, OTHER_SECRET)
    may = frozenset({"filter", "moves", "standings"} if race.kind != "open" else ())
    yield _whole("secret", "another and the commitment to it", random, content, Expected({"chain": 1}, may=may))


def moves(race: Subject, random: Random) -> Iterator[Mutation]:
    """Change a move to a legal, illegal or malformed one."""
    races = list(race.replay.races())
    for n in race.numbers("moved"):
        run = races[n - 1].seat(race.event(n)["seat"]).run
        assert run
        others = [*run.game.moves(), "undo", "restart", "draw", "z9z9", "a 1", "é", "", "x" * 65]
        yield from _values("move", race, random, ("entries", n - 1, 2, "move"), random.choice(others))


# Signatures.


def signature(race: Subject, random: Random) -> Iterator[Mutation]:
    """Replace the signature with invalid ones."""
    ours, digest = race.content["signature"], race.content["digest"]
    for field in ("key", "value"):
        for value in (_other_hex(random, ours[field]), ours[field][2:], ours[field].upper(), None):
            yield from _values("signature", race, random, ("signature", field), value)
    yield from _values("signature", race, random, ("signature",), None)
    theirs = signed(THEIR_SIGNING_KEY, race.name, digest)
    changed: dict[str, tuple[Signature, tuple[str, ...]]] = {
        "of another race": (signed(SIGNING_KEY, "other-race", digest), ()),
        "of another digest": (signed(SIGNING_KEY, race.name, "0" * 64), ()),
        "by somebody else": (theirs, (OUR_KEY,)),
        "by somebody else who shows our key": (Signature(key=OUR_KEY, value=theirs.value), ()),
        "ours, and others were asked for": (race.replay.signature, ("0" * 64, theirs.key)),
    }
    for what, (value, keys) in changed.items():
        content = put(race.content, ("signature",), msgspec.to_builtins(value))
        yield _whole("signature", what, random, content, Expected({"signature": None}), keys=keys)


def written_anew(race: Subject, random: Random) -> Iterator[Mutation]:
    """Replace the race with a consistent one by a forger without the server's key."""
    for what, replay in random.sample(rewrites := rewritten_replays(race, random), min(len(rewrites), 14)):
        own = signed(THEIR_SIGNING_KEY, race.name, replay.digest)
        ways: dict[str, tuple[Signature | None, tuple[str, ...]]] = {
            "anew, the signature as it was": (race.replay.signature, random.choice(((), (OUR_KEY,)))),
            "anew, that of another race": (signed(SIGNING_KEY, "other-race", replay.digest), ()),
            "anew, signed by the forger": (own, (OUR_KEY,)),
            "anew, and our key shown for theirs": (Signature(key=OUR_KEY, value=own.value), ()),
            "anew, without a signature": (None, ()),
        }
        for way in random.sample(sorted(ways), 3):
            value, keys = ways[way]
            content = put(msgspec.to_builtins(replay), ("signature",), msgspec.to_builtins(value))
            expected = Expected({"signature": None}) if value else UNREADABLE
            yield _whole(way, what, random, content, expected, keys=keys)


def against_receipts(race: Subject, random: Random) -> Iterator[Mutation]:
    """Replace the race with one that the server signed but that contradicts receipts."""
    kind = "against receipts"
    for what, replay in random.sample(rewrites := rewritten_replays(race, random), min(len(rewrites), 10)):
        stored = _receipts(race, random)
        if expected := _contradiction(race.replay, replay, stored):
            what = f"{what}, and there are receipts of {[digest.n for digest in stored.digests]}"
            content = msgspec.to_builtins(replay)
            yield _whole(kind, what, random, content, expected, keys=(OUR_KEY,), receipts=stored)

    def untold(
        what: str, n: int, *digests: DigestReceipt, nonce: NonceReceipt | None = None, after: int = 10**6
    ) -> Mutation:
        stored = Receipts(race.replay.header, (nonce,) if nonce else (), digests, after if nonce else None)
        return _whole(kind, what, random, race.content, Expected({"receipts": n}), keys=(OUR_KEY,), receipts=stored)

    for n in race.numbers("nonce"):
        other = NonceReceipt(race.event(n)["seat"], random.randbytes(32).hex())
        yield untold(f"not the nonce of entry {n} was sent", n, nonce=other)
        own, (counting,) = NonceReceipt(other.seat, race.event(n)["nonce"]), race.numbers("counting")
        after = random.randrange(counting)
        yield untold(f"the nonce of entry {n} was sent after entry {after}", counting, nonce=own, after=after)
    for n in random.sample(range(1, race.last + 1), 2):
        two = [DigestReceipt(n, race.replay.entries[n - 1].h), DigestReceipt(n, random.randbytes(32).hex())]
        yield untold(f"two digests of entry {n}", n, *random.sample(two, 2))
    yield untold("one entry more", race.last, DigestReceipt(race.last + 1, "0" * 64))


def _receipts(race: Subject, random: Random) -> Receipts:
    """Return receipts that a racer may have: some digests and the racer's own nonce."""
    told_of = sorted(random.sample(range(1, race.last + 1), random.randrange(1, 8)))
    digests = [DigestReceipt(0, first_digest(SECRET, header_bytes(race.replay.header)))] * random.randrange(2)
    digests += (DigestReceipt(n, race.replay.entries[n - 1].h) for n in told_of)
    nonces = [NonceReceipt(race.event(n)["seat"], race.event(n)["nonce"]) for n in race.numbers("nonce")[:1]]
    return Receipts(race.replay.header, tuple(nonces), tuple(digests), race.last if nonces else None)


def _contradiction(was: Replay, told: Replay, stored: Receipts) -> Expected | None:
    """Return the first receipt that contradicts the rewritten race, if any."""
    if told.header != was.header:
        return Expected({"receipts": None})
    one, other = ([(entry.at, entry.event) for entry in replay.entries] for replay in (was, told))
    same = next((n for n, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), len(other))
    contradicted = [digest.n for digest in stored.digests if digest.n > same]
    return Expected({"receipts": min(contradicted[0], len(other))}) if contradicted else None


MAKERS: tuple[Callable[[Subject, Random], Iterator[Mutation]], ...] = (
    *(one_byte, header, options, standings, order, cut, parts, seats, seals, moves),
    *(signature, written_anew, against_receipts),
)

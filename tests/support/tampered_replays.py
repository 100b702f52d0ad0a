"""Short races to tamper with, their encodings, and the facts that must fail when one part is changed.

The expected failures follow from docs/bots/replay-format.md alone: from the changed part and the order of the
entries. They are not computed with the code under test.
"""

import json
import re
from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from math import isfinite
from random import Random
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import structs

from samedeal.computer.deal_filters import first
from samedeal.games.catalogue import GAMES
from samedeal.proof.commitments import nonce_commitment, root
from samedeal.race.events import (
    AnyEvent,
    Closed,
    Counting,
    Dealt,
    Joined,
    Left,
    Moved,
    Nonce,
    Options,
    Readied,
    Resigned,
    Taken,
    Unreadied,
)
from samedeal.race.race import Race
from samedeal.race.run import RESTART, UNDO
from samedeal.replays.replay import Replay
from samedeal.wire import codec
from support import finished_races
from support.finished_races import NAMES, OPENED_AT, SECRET, Logged
from support.replay_fields import Path, is_valid

msgpack: Any = import_module("msgpack")  # it has no type hints
Form = Literal["json", "msgpack", "lines"]
FORMS: tuple[Form, ...] = ("json", "msgpack", "lines")
Kind = Literal["sealed", "open", "daily", "friendly"]
DAY_MS = 86_400_000

OPTIONS: dict[Kind, dict[str, Any]] = {
    "sealed": {"unlisted": True},
    "open": {"max_racers": 3, "attempts": 3, "spectators": "after"},
    "daily": {"start_delay_ms": 800, "spectators": "open"},
    "friendly": {"filter": "friendly/1"},
}
VARIANTS: dict[str, dict[str, str | bool]] = {"corners": {"refill": "waste"}, "gallery": {"cap": False}}
RACES: list[tuple[str, Kind]] = [(slug, kind) for slug in GAMES for kind in OPTIONS if kind != "friendly"]


RACES += [("corners", "friendly")]
"""Games and kinds of races."""


@dataclass(frozen=True, eq=False)
class Subject:
    """A race to tamper with."""

    kind: Kind
    replay: Replay

    @cached_property
    def content(self) -> Any:
        """The replay as lists and dicts. Copy it before changing it."""
        return json.loads(codec.encode(self.replay, "json"))

    @property
    def name(self) -> str:
        return self.replay.header.race

    @property
    def last(self) -> int:
        """The number of the last entry."""
        return len(self.replay.entries)

    def numbers(self, *kinds: str) -> list[int]:
        """Return the numbers of all entries with some kinds of events."""
        return [n for n, _, event, _ in self.content["entries"] if event["t"] in kinds]

    def event(self, n: int) -> Any:
        return self.content["entries"][n - 1][2]

    def time(self, n: int) -> int:
        return self.replay.entries[n - 1].at


@cache
def subject(slug: str, kind: Kind) -> Subject:
    """Return a short, deterministic race of two with every kind of event."""
    random, log, nonces = Random(f"{slug} {kind}"), _opened(slug, kind), _nonces(slug, kind)
    sealed = log.race.header.sealed
    for seat, name in enumerate(NAMES, start=1):
        promise = nonce_commitment(log.race.id, nonces[seat - 1]) if sealed else None
        by = None if seat == 3 else random.randbytes(8).hex()
        taken = Joined(seat=seat, player=f"player-{seat}", name=name, bot=seat == 2, commitment=promise, by=by)
        log.say(taken, random.randrange(1_000))
    before: list[AnyEvent] = [Readied(seat=1), Unreadied(seat=1), Left(seat=3), Readied(seat=1), Readied(seat=2)]
    for event in [*before, Counting()]:
        log.say(event, random.choice((0, 300)))
    for seat in (1, 2) if sealed else ():
        log.say(Nonce(seat=seat, nonce=nonces[seat - 1].hex()), 20)
    k = first(log.race.game, log.race.root or "", {}, "friendly/1") if kind == "friendly" else 0
    log.say(Dealt(k=k), (log.race.starts_at or 0) - log.race.at)
    log.say(Taken(seat=2, by=random.randbytes(8).hex()), 100)
    for seat, wanted in ((1, ""), (1, ""), (1, RESTART), (2, ""), (1, UNDO), (1, ""), (2, ""), (2, UNDO), (1, "")):
        run = log.race.seat(seat).run
        assert run
        move = wanted if wanted and run.may(wanted) else random.choice(run.game.moves())
        log.say(Moved(seat=seat, move=move), 50)
    for seat in (1, 2):
        log.say(Resigned(seat=seat), random.randrange(1, 2_000))
    log.say(Closed(secret=SECRET.hex()))
    return Subject(kind, log.replay())


def _opened(slug: str, kind: Kind) -> Logged:
    seed, daily = "béla 7" if kind == "open" else None, kind == "daily"
    race = finished_races.opened(slug, race=f"{slug}-{kind}", seed=seed, daily=daily).race
    options = Options(**{"limit_ms": race.game.limit_ms, **OPTIONS[kind]})
    variant = VARIANTS.get(slug, {}) if kind == "open" else {}
    return Logged(Race.opened(structs.replace(race.header, options=options, variant=variant), SECRET))


def _nonces(slug: str, kind: Kind) -> list[bytes]:
    """Return the nonces of a race's seats. For friendly races, the first deal of the root does not pass the filter."""
    random = Random(f"nonces of {slug} {kind}")
    nonces = [random.randbytes(32) for _ in NAMES]
    while kind == "friendly" and not 0 < first(GAMES[slug], root(SECRET, nonces[:2]), {}, "friendly/1") < 4:
        nonces = [random.randbytes(32) for _ in NAMES]
    return nonces


# Bytes.


def encoded(content: Any, form: Form) -> bytes:
    """Encode a replay. It may be invalid, except as MessagePack, which has a fixed field order."""
    if form == "json":
        return canonical(content)
    if form == "msgpack":
        return codec.encode(msgspec.convert(content, Replay), "msgpack")
    head = {field: content[field] for field in ("format", "header")}
    foot = {field: value for field, value in content.items() if field not in ("format", "header", "entries")}
    return b"".join(canonical(line) + b"\n" for line in (head, *content["entries"], foot))


def canonical(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def decoded(data: bytes, form: Form) -> Any:
    """Decode bytes. Raises ValueError if they are not canonical, except for JSON."""
    if form == "json":
        return _json(data)
    if form == "lines":
        head, *entries, foot = map(_line, data.removesuffix(b"\n").split(b"\n"))
        if not data.endswith(b"\n") or {*head} != {"format", "header"} or {*foot} & {"format", "header", "entries"}:
            raise ValueError("these are not the lines of a replay")
        return {**head, "entries": entries, **foot}
    try:
        content = msgpack.unpackb(data, object_pairs_hook=_once)
        again = msgpack.packb(content)
    except Exception as error:
        raise ValueError(str(error)) from error
    if again != data:
        raise ValueError("the encoding is not canonical")
    return content


def _json(data: bytes) -> Any:
    return json.loads(data.decode(), object_pairs_hook=_once, parse_float=_finite)


def _finite(text: str) -> float:
    if not isfinite(number := float(text)):
        raise ValueError("the number is too large")
    return number


def _line(data: bytes) -> Any:
    value = _json(data)
    if canonical(value) != data or re.search(rb'"progress":\d+[,}]', data):
        raise ValueError("the line is not canonical: shares, and only shares, have a decimal point")
    return value


def _once(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    fields = list(pairs)
    if len(dict(fields)) < len(fields):
        raise ValueError("a field occurs twice")
    return dict(fields)


# Expected failures.


class Expected(NamedTuple):
    """The facts that must fail in a replay, and no others. Facts that cannot be checked are not listed."""

    must: dict[str, int | None]
    """Facts that fail, with their entries."""
    entry: int | None = None
    """The entry at which the first of `one_of` fails."""
    one_of: frozenset[str] = frozenset()
    may: frozenset[str] = frozenset()
    """Facts that may fail later as a consequence."""

    def fits(self, actual: dict[str, int | None]) -> bool:
        firsts = [entry for fact in self.one_of if (entry := actual.get(fact)) is not None]
        return (
            self.must.items() <= actual.items()
            and min(firsts, default=None) == self.entry
            and actual.keys() <= self.must.keys() | self.one_of | self.may
        )


NEEDS_FORMAT_2 = ("follows", "ghosts", "finishers", "best_of")
"""Fields that a file of the first format cannot have."""
UNREADABLE = Expected({"unreadable": None})
"""The bytes are not a replay."""
LATER = frozenset({"order", "nonces", "filter", "moves", "chain", "standings"})
"""The facts that later entries may violate after a changed one."""
REFUSED = {"moved": {"moves"}, "resigned": {"moves"}, "joined": {"order", "nonces"}, "nonce": {"order", "nonces"}}
"""The facts that fail for an illegal event, by kind, if not only `order`."""


def broken_at(n: int, event: Any, **must: int | None) -> Expected:
    """Return the failures for a changed entry: either it is illegal, or its digest is wrong."""
    return Expected(must, n, frozenset({"chain"} | REFUSED.get(event["t"], {"order"})), LATER)


def expected_of(race: Subject, path: Path, value: Any) -> Expected:
    """Return the failures for a changed value, or for a missing one if `value` is None."""
    if not is_valid(path, value) or path[-1] in NEEDS_FORMAT_2:
        return UNREADABLE
    content = put(race.content, path, value)
    match path:
        case ("header", "options", str(field)):
            return _option(race, field, value)
        case ("header", str(field), *_):
            return _header(race, field, content)
        case ("entries", int(at), 0):
            return Expected({"numbers": at + 1, "chain": at + 1})
        case ("entries", int(at), 1):
            return broken_at(at + 1, race.event(at + 1), **backwards(content))
        case ("entries", int(at), 3):
            return Expected({"chain": at + 1})
        case ("entries", int(at), 2, str(field)):
            return _event(race, at + 1, field, content["entries"][at][2])
        case ("digest",):
            return Expected({"chain": race.last, "signature": None})
        case ("signature", *_):
            return Expected({"signature": None})
    return Expected({"standings": None})


def expected_of_bytes(race: Subject, data: bytes, form: Form) -> Expected | None:
    """Return the failures for bytes with one change, or None if they have the same meaning."""
    try:
        differences = list(_differences(race.content, content := decoded(data, form)))
    except ValueError:
        return UNREADABLE
    if not differences:
        return None
    if any(value is None or not is_valid(path, value) for path, value in differences):
        return UNREADABLE
    if len(differences) == 1:
        return expected_of(race, *differences[0])
    (_, at, number), (*entry, time) = (path for path, _ in differences)
    assert (form, number, entry, time) == ("msgpack", 0, ["entries", at], 1), (
        "a change of the length of a number also changes the next value"
    )
    return broken_at(int(at) + 1, race.event(int(at) + 1), numbers=int(at) + 1, **backwards(content))


def put(content: Any, path: Path, value: Any) -> Any:
    """Return a copy with another value at a path, or without it if `value` is None."""
    *way, field = path
    copied = inner = deepcopy(content)
    for step in way:
        inner = inner[step]
    if value is None:
        del inner[field]
    else:
        inner[field] = value
    return copied


def backwards(content: Any) -> dict[str, int | None]:
    """Return the first entry at which time runs backwards, if any."""
    times = [content["header"]["opened_at"], *(at for _, at, _, _ in content["entries"])]
    return next(({"times": n} for n, at in enumerate(times) if at < max(times[: n + 1])), {})


def _differences(one: Any, other: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield the paths at which two contents differ, with the second one's values."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        for field in one:
            yield from _differences(one[field], other[field], (*path, field))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for at, pair in enumerate(zip(one, other, strict=True)):
            yield from _differences(*pair, (*path, at))
    elif type(one) is not type(other) or one != other:
        yield path, other


# Failures for changed headers and events (sections 2 to 5).


def _header(race: Subject, field: str, content: Any) -> Expected:
    """Return the failures for a header with one changed field."""
    header = content["header"]
    daily, opened, variant = "daily" in header, "seed" in header, header.get("variant", {})
    known = GAMES[race.replay.header.game].options
    if field in ("game", "rules") or any(value not in known.get(name, ())[1:] for name, value in variant.items()):
        return Expected({"rules": None})
    must = backwards(content) | ({"signature": None} if field == "race" else {})
    another_day = header["opened_at"] // DAY_MS != OPENED_AT // DAY_MS
    if (
        field in ("commitment", "daily")
        or (field == "race" and not daily)
        or (daily and (opened or variant or another_day))
    ):
        return Expected(must | {"commitment": race.last})
    if field == "seed" and not opened:  # the race is now sealed but has no commitments
        return Expected({"nonces": 1})
    if field == "seed" and race.kind == "friendly":  # its deal has a number but no root
        return Expected({"chain": 1, "order": race.numbers("dealt")[0]})
    another_deal = {"filter", "moves", "standings"} if field in ("seed", "variant") else set()
    later = LATER if "times" in must else frozenset()
    return Expected(must | {"chain": 1}, may=later | another_deal)


def _option(race: Subject, field: str, value: Any) -> Expected:
    """Return the failures for a header with one changed option."""
    (dealt,), (counting,), last = race.numbers("dealt"), race.numbers("counting"), race.last
    refused: dict[str, int | None] = {}
    may: set[str] = set()
    match field:
        case "limit_ms" if value <= race.time(last) - race.time(dealt):
            return Expected({"chain": 1}, may=LATER)
        case "max_racers" if (value or 8) < 3:
            refused = {"order": race.numbers("joined")[value]}
        case "start_delay_ms" if (5_000 if value is None else value) > race.time(dealt) - race.time(counting):
            refused = {"order": dealt}
        case "undo" | "attempts" if value is not None:
            wanted, allowed = (UNDO, 0) if field == "undo" else (RESTART, value - 1)
            positions = [n for n in race.numbers("moved") if race.event(n)["move"] == wanted]
            refused = {"moves": positions[allowed]} if len(positions) > allowed else {}
        case "filter" if value is None:
            refused = {"filter": dealt}
        case "filter" if race.kind == "open":
            refused = {"filter": dealt}
        case "filter":
            may = {"filter"}
    return Expected({"chain": 1, **refused}, may=frozenset(may))


def _event(race: Subject, n: int, field: str, event: Any) -> Expected:
    """Return the failures for an event of entry n with one changed field."""
    match event["t"], field:
        case "joined", "seat":
            return Expected({"order": n})
        case "joined", "name" | "bot":
            return Expected({"chain": n, **({"standings": None} if event["seat"] != 3 else {})})
        case "joined", "commitment" if "commitment" not in event:
            return Expected({"nonces": n})
        case "joined", "commitment":
            opened = [at for at in race.numbers("nonce") if race.event(at)["seat"] == event["seat"]]
            return Expected({"chain": n, **({"nonces": opened[0]} if opened else {})})
        case "joined", "player" if any(event["player"] == race.event(at)["player"] for at in race.numbers("joined")):
            return broken_at(n, event)
        case "joined" | "taken", "player" | "by":
            return Expected({"chain": n})
        case "nonce", "nonce":
            return Expected({"nonces": n})
        case "dealt", "k" if race.kind == "open":
            return Expected({"order": n})
        case "dealt", "k":
            return Expected({"chain": n, "filter": n}, may=frozenset({"moves", "standings"}))
        case "closed", "secret":
            return Expected({"commitment": n})
    return broken_at(n, event)

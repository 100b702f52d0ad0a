"""Alterations of every field of a replay: other values, missing ones, and values that are not valid."""

from collections.abc import Iterator
from copy import deepcopy
from functools import partial
from random import Random
from typing import Any, Final, NamedTuple

from support.alterations import AS_IS, EACH_VALUE, UNREADABLE, UNTIMED, Change, NotPossible, as_is, kind
from support.replay_writing import DAY_MS, FILTERS_2, Content

MISSING: Final = object()
LATEST: Final = 253_402_300_799_999
GAMES: Final = ("corner-stones", "the-edge", "corners", "kings-in-the-corners", "gallery")
SEATS: Final = (1, 2, 3, 9, 2**20)


def more(number: Any) -> Any:
    return number + 1


def less(number: Any) -> Any:
    return number - 1


def earlier(at: Any) -> Any:
    return max(0, at - 1)


def other_limit(limit_ms: Any) -> Any:
    return limit_ms - 1 if limit_ms > 1000 else limit_ms + 1


def opposite(value: Any) -> Any:
    return not value


def other_digit(text: Any) -> Any:
    return f"{int(text[0], 16) ^ 1:x}{text[1:]}"


def other_last_digit(text: Any) -> Any:
    return f"{text[:-1]}{int(text[-1], 16) ^ 1:x}"


HEX: Final = (other_digit, other_last_digit, lambda text: "0" * len(text))
NOT_HEX: Final = (str.upper, lambda text: text[2:], lambda text: text + "\n", lambda text: "g" + text[1:], "")


_TIMES: Final = {"until": 1_800_000_000_000, "reveals_at": 1_900_000_000_000}
CLUB: Final = {"club": "merry-heron-77", "h": "0" * 64}
HEAT: Final = {"challenge": "calm-otter", "deal": 1, "nonce": "0" * 64, "h": "0" * 64, **_TIMES}


class Field(NamedTuple):
    """A field: the facts of which one fails if the value is another valid one, and values. Functions return one for
    the value that was there.
    """

    fails: str
    valid: tuple[Any, ...] = ()
    invalid: tuple[Any, ...] = ()
    optional: bool = False
    """Whether it can be missing."""


FIELDS: Final = {
    "replay format": Field(
        "", (), (*(f"samedeal.replay/{number}" for number in range(1, 6)), "samedeal.replay", "other", "", 1)
    ),
    "replay header": Field(""),
    "replay entries": Field(""),
    "replay digest": Field("chain", HEX, NOT_HEX),
    "replay signature": Field(""),
    "replay standings": Field("standings", ([],)),
    # The header.
    "header race": Field(
        "commitment chain", ("calm-otter-43", "a", "par-x", "x" * 64), ("A", "a b", "", "x" * 65, "../etc", "x\n")
    ),
    "header game": Field("rules", (*GAMES, "poker", "")),
    "header rules": Field("rules", ("corners/2", *(f"{game}/1" for game in GAMES), "")),
    "header variant": Field(
        "rules chain commitment",
        (
            *({"cap": False}, {"cap": True}, {"refill": "waste"}, {"refill": "stock"}, {"refill": "moon"}),
            *({"b": True, "a": "x"}, {"cls": True}, {"seed": "x"}),
        ),
        ({}, [], {"": True}, {"1": True}, {"Cap": True}, {"é": True}, {"cap\n": True}, {"cap": 0}, {"cap": None}),
        optional=True,
    ),
    "header seed": Field(
        "rules chain commitment nonces order",
        ("1", "béla 7", "ms:11982", "ms:0", "ms:1000001", "x" * 128, "🂡" * 128),
        ("a|b", "", "x" * 129, "\x7f", "a\n", None),
        optional=True,
    ),
    "header daily": Field("commitment nonces", (True,), (False,), optional=True),
    "header commitment": Field("commitment", HEX, NOT_HEX),
    "header salt": Field("chain", ("1" * 32,), ("1" * 31, "", "A" * 32), optional=True),
    "header opened_at": Field(
        "chain times commitment order",
        (more, earlier, lambda at: at + DAY_MS, lambda at: max(0, at - DAY_MS), 0, LATEST),
        (-1, LATEST + 1),
    ),
    "header options": Field(""),
    "header follows": Field("chain commitment", ("first-race", "x" * 64), ("", "A", "x" * 65, None, 1), optional=True),
    "header ghosts": Field(
        "chain commitment", (["a"], ["a", "a"], ["a"] * 8), ([], ["a"] * 9, ["A"], "a", {"a": 1}, [1]), optional=True
    ),
    "header head_start": Field(
        "chain commitment moves",
        ({"player": "player-1", "ms": 1}, {"player": "player-2", "ms": 600_000}, {"player": "x" * 64, "ms": 60_000}),
        (None, {}, [], True, {"player": "player-1"}, {"ms": 1}, {"player": "player-1", "ms": 1, "seat": 1}),
        optional=True,
    ),
    "header heat": Field("chain commitment", (HEAT,), (None, {}, [], True, {**HEAT, "seat": 1}), optional=True),
    "header club": Field("chain commitment", (CLUB,), (None, {}, [], True, {**CLUB, "seat": 1}), optional=True),
    "club club": Field("chain", ("merry-heron-78", "x" * 64), ("A", "", "x" * 65)),
    "club h": Field("chain", HEX, NOT_HEX),
    "heat challenge": Field("commitment", ("brave-otter-4", "x" * 64), ("A", "", "x" * 65)),
    "heat deal": Field("chain", (1, 2, 24), (0, 25, "1")),
    "heat nonce": Field("chain", HEX, NOT_HEX),
    "heat until": Field("chain commitment order", (more, less, lambda at: at - DAY_MS, 0, LATEST), (-1, LATEST + 1)),
    "heat reveals_at": Field("chain commitment", (more, less, 0, LATEST), (-1, LATEST + 1)),
    "heat h": Field("chain", HEX, NOT_HEX),
    "head_start player": Field("chain moves", ("player-1", "player-3", "🂡" * 64), ("", "x" * 65, None)),
    "head_start ms": Field("chain moves commitment", (more, less, 1, 600_000), (0, -1, 600_001, "1")),
    "options limit_ms": Field("chain commitment", (other_limit, 1000, 60_000, 7_200_000), (0, 999, 7_200_001, "1000")),
    "options max_racers": Field("chain", (1, 2, 3, 9, 32), (0, 8, 33, -1), optional=True),
    "options start_delay_ms": Field("chain", (0, 1, 4999, 5000, 60_000), (-1, 60_001), optional=True),
    "options undo": Field("chain", (False,), (True, 0), optional=True),
    "options attempts": Field("chain", (1, 2, 1000), (-1, 0, 1001), optional=True),
    "options spectators": Field("chain commitment", ("after", "open"), ("progress", "nobody"), optional=True),
    "options filter": Field("chain filter", ("friendly/1", *FILTERS_2), ("any", "friendly/2", ""), optional=True),
    "options unlisted": Field("chain", (True,), (False, 1), optional=True),
    "options finishers": Field("chain commitment", ("none", "all"), ("won", "some", True), optional=True),
    "options best_of": Field("chain commitment", (3, 5, 7), (0, 1, 2, 9, "3"), optional=True),
    "options end_when_stuck": Field("chain commitment", (True,), (False, 1), optional=True),
    # Entries.
    "entry 0": Field("numbers", (1, more, 2**53 - 1), (0, -1, 2**53)),
    "entry 1": Field(
        "times chain order moves",
        (more, earlier, lambda at: max(0, at - 1000), lambda at: at + 1000, lambda at: at + 10**9, 0, LATEST),
        (-1, LATEST + 1),
    ),
    "entry 2": Field(""),
    "entry 3": Field("chain", HEX, NOT_HEX),
    "joined seat": Field("order", (more, 64, 65, 2**20), (0, 2**20 + 1)),
    "joined player": Field("chain order", ("x" * 64, "🂡" * 64, "somebody", "player-1", "player-2"), ("", "x" * 65)),
    "joined name": Field("chain", ("eve", "🂡" * 48, 'a"\\/\n\x00\x7f\u2028', '":"\\" :'), ("", "x" * 49)),
    "joined bot": Field("chain", (True,), (False,), optional=True),
    "joined commitment": Field("chain nonces", HEX, (*NOT_HEX, None), optional=True),
    "joined by": Field(
        "chain nonces order", ("fedcba9876543210", "0" * 16), ("0" * 15, "G" * 16, "", None), optional=True
    ),
    "left seat": Field("chain order", SEATS, (0,)),
    "readied seat": Field("chain order", SEATS, (0,)),
    "unreadied seat": Field("chain order", SEATS, (0,)),
    "nonce seat": Field("nonces order", SEATS, (0,)),
    "nonce nonce": Field("nonces", HEX, NOT_HEX),
    "dealt k": Field("filter order", (1, 2, 7, 4096, 2**20), (0, -1, 2**20 + 1), optional=True),
    "moved seat": Field("moves chain", SEATS, (0,)),
    "moved move": Field(
        "moves chain",
        ("undo", "restart", "DRAW", "a0", "z9z9", "u1u2", "a1+a1", "b1+a1", "x" * 64, "__proto__"),
        ("", "a 1", "é", "x" * 65, "draw\n"),
    ),
    "taken seat": Field("chain order", SEATS, (0,)),
    "taken by": Field("chain", ("fedcba9876543210", "0" * 16), ("0" * 15, "G" * 16, "", None), optional=True),
    "resigned seat": Field("moves chain", SEATS, (0,)),
    "closed secret": Field("commitment", HEX, NOT_HEX),
    # The standings and the signature.
    **{
        f"standing {field}": Field("standings", (more, less, 0, 1, -1, 2**53 - 1), (2**53, -(2**53), "4"))
        for field in ("place", "seat", "home", "goal", "attempts", "ms")
    },
    "standing name": Field("standings", ("", "x" * 49, '":"\\":\\\\" :', lambda name: name + " ")),
    "standing bot": Field("standings", (opposite,)),
    "standing outcome": Field("standings", ("won", "lost", "stuck", "timeout", "scratched", "waiting", "x", "")),
    "standing done": Field("standings", (opposite,)),
    "standing progress": Field(
        "standings", (0.0, 1.0, -0.0, 1.5, -0.25, 1 / 3, 1.5e-6, 1e15, 1e16, 1e22, 5e-324, 1.7e308), (0, 1, True)
    ),
    "signature key": Field("signature", (*HEX, (2).to_bytes(32, "little").hex()), NOT_HEX),
    "signature value": Field("signature", HEX, NOT_HEX),
}
"""All fields by the object that has them, an event by its type. Required fields without values are only removed."""


def holders(content: Content, name: str) -> list[Any]:
    """Return the objects, or entries, with a name in FIELDS."""
    header, entries = content["header"], content["entries"]
    single = {"replay": content, "header": header, "options": header["options"], "signature": content["signature"]}
    if name in ("head_start", "heat", "club"):
        return [header[name]] if name in header else []
    if name in single:
        return [single[name]]
    if name == "entry":
        return list(entries)
    return content["standings"] if name == "standing" else [entry[2] for entry in entries if entry[2]["t"] == name]


def _changes_of(name: str, field: Field) -> list[Change]:
    """Return one change for each value of a field, and one that removes it."""
    values = [(value, field.fails) for value in field.valid] + [(value, UNREADABLE) for value in field.invalid]
    values.append((MISSING, field.fails if field.optional else UNREADABLE))
    return [partial(_changed, name, value, fails) for value, fails in values]


def _changed(name: str, value: Any, fails: str, content: Content, random: Random) -> str:
    """Replace a field's value in one of the objects that can have it."""
    holder_name, _, text = name.partition(" ")
    key: Any = int(text) if holder_name == "entry" else text
    if not (found := holders(content, holder_name)):
        raise NotPossible
    holder = random.choice(found)
    old = holder[key] if holder_name == "entry" else holder.get(key, MISSING)
    if old is MISSING and (value is MISSING or callable(value)):
        raise NotPossible
    if value is MISSING:
        del holder[key]
        return fails
    new = value(old) if callable(value) else deepcopy(value)
    if type(new) is type(old) and repr(new) == repr(old):
        raise NotPossible
    holder[key] = new
    return fails


def _any_of(changes: list[Change]) -> Change:
    return lambda content, random: random.choice(changes)(content, random)


for _name, _field in FIELDS.items():
    EACH_VALUE.extend((_name, change) for change in _changes_of(_name, _field))
    kind(_any_of(_changes_of(_name, _field)), _name)
UNTIMED.update(("entry 0", "entry 1", "header opened_at"))
AS_IS.update(name for name in FIELDS if name.startswith(("replay", "signature")))


# Any field.


def containers(value: Any) -> Iterator[Any]:
    """Yield all objects and arrays in a content."""
    if isinstance(value, dict | list):
        yield value
        for each in value.values() if isinstance(value, dict) else value:
            yield from containers(each)


@as_is
def a_field_is_unknown(content: Content, random: Random) -> str:
    container = random.choice(list(containers(content)))
    value: Any = random.choice((None, 0, {}))
    if isinstance(container, list):
        container.append(value)
    else:
        container[random.choice(("more", "", "toString", "é"))] = value
    return UNREADABLE


@as_is
def a_field_has_the_wrong_type(content: Content, random: Random) -> str:
    container = random.choice([each for each in containers(content) if each])
    key = random.choice(list(container)) if isinstance(container, dict) else random.randrange(len(container))
    values: tuple[Any, ...] = (None, 0, 1.5, "", [], {}, [1], {"t": "counting"})
    container[key] = random.choice([value for value in values if type(value) is not type(container[key])])
    return UNREADABLE

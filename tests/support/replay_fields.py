"""The valid values of each field of a replay file (docs/bots/replay-format.md, section 1)."""

import re
from collections.abc import Callable
from typing import Any

Path = tuple[str | int, ...]
"""The path to a value in a replay as lists and dicts."""


def _text(pattern: str) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and re.fullmatch(pattern, value, re.DOTALL) is not None


def _whole(least: int, most: int) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and least <= value <= most


def _is(*choices: Any) -> Callable[[Any], bool]:
    return lambda value: any(type(value) is type(choice) and value == choice for choice in choices)


def _object(known: set[str], forms: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """An object with these fields, or any fields if the set is empty."""
    return lambda value: (
        isinstance(value, dict) and (not known or {*value} == known) and all(map(forms, value.values()))
    )


HEX32, TIME = _text("[0-9a-f]{64}"), _whole(0, 253_402_300_799_999)
OPTIONAL: dict[str, Callable[[Any], bool]] = {
    "variant": _object(set(), lambda value: type(value) in (str, bool)),
    "seed": _text(r"[^|\x00-\x1f\x7f]{1,128}"),
    "daily": _is(True),
    "salt": _text("[0-9a-f]{32}"),
    "max_racers": lambda value: _whole(1, 32)(value) and value != 8,
    "start_delay_ms": lambda value: _whole(0, 60_000)(value) and value != 5_000,
    "undo": _is(False),
    "attempts": _whole(1, 1_000),
    "spectators": _is("after", "open"),
    "filter": _is("friendly/1", "certified/1"),
    "unlisted": _is(True),
    "bot": _is(True),
    "by": _text("[0-9a-f]{16}"),
    "k": _whole(1, 2**20),
}
"""The valid values of fields that are omitted at their defaults."""
FIELDS: dict[str, Callable[[Any], bool]] = {
    "race": _text("[a-z0-9-]{1,64}"),
    "game": _text(".*"),
    "rules": _text(".*"),
    "opened_at": TIME,
    "limit_ms": _whole(1_000, 7_200_000),
    "seat": _whole(1, 2**20),
    "player": _text(".{1,64}"),
    "name": _text(".{1,48}"),
    "move": _text("[!-~]{1,64}"),
    "value": _text("[0-9a-f]{128}"),
    "signature": _object({"key", "value"}, _text("[0-9a-f]+")),
    **dict.fromkeys(("commitment", "nonce", "secret", "digest", "key"), HEX32),
}
"""The valid values of required fields, except in standings."""
STANDING: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("place", "seat", "home", "goal", "attempts", "ms"), lambda value: type(value) is int),
    **dict.fromkeys(("name", "outcome"), lambda value: isinstance(value, str)),
    **dict.fromkeys(("bot", "done"), lambda value: type(value) is bool),
    "progress": lambda value: type(value) in (int, float),
}
ENTRY: tuple[Callable[[Any], bool], ...] = (
    lambda value: type(value) is int and value > 0,
    TIME,
    lambda _: False,
    HEX32,
)


def is_valid(path: Path, value: Any) -> bool:
    """Return whether a value is valid at a path, or whether it may be missing if it is None."""
    match path:
        case ("standings", _, str(field)):
            return STANDING[field](value)
        case ("entries", _, int(part)):
            return ENTRY[part](value)
        case ("header", "variant", _):
            return type(value) in (str, bool)
        case ("entries", _, _, "commitment"):
            return value is None or HEX32(value)
        case (*_, str(field)) if field in OPTIONAL:
            return value is None or OPTIONAL[field](value)
        case (*_, str(field)) if field in FIELDS:
            return FIELDS[field](value)
    return False

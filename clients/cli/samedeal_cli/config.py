"""The configuration: what ``config.toml`` and the environment say about the settings, and how the file is changed."""

import os
import re
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from shutil import copymode
from tempfile import NamedTemporaryFile
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

import platformdirs

from samedeal_cli.failure import Failure, Misused
from samedeal_cli.net.addresses import server_address
from samedeal_cli.settings import Settings, color_of_environment

KEYS: Final[dict[str, str]] = {
    "server": "the server to use",
    "name": "your name without --as",
    "color": "colour the cards",
    "suits": "number of suit colours",
    "theme": "full-screen colours",
    "ascii": "write ASCII only",
    "cards": "card size on the full screen",
    "mouse": "use the mouse",
    "animation": "animate the full screen",
    "auto_drop": "play a picked card that has only one destination",
    "screen_reader": "plain sentences instead of drawings",
}
"""What is kept, and what it is about. Its default, and what it may be, say the fields of Settings of the same names."""

Value = str | bool
_HINTS: Final = get_type_hints(Settings)
_SWITCH: Final = {
    "on": True,
    "true": True,
    "yes": True,
    "1": True,
    "off": False,
    "false": False,
    "no": False,
    "0": False,
}
_LINE: Final = re.compile(r"\s*(?P<key>[A-Za-z0-9_-]+)\s*=(?P<rest>.*)")


def config_file() -> Path:
    """Where the configuration is, whether there is one or not."""
    return platformdirs.user_config_path("samedeal") / "config.toml"


def configured() -> Settings:
    """The settings before any flag is heard. Of the file, what cannot be used is told on standard error and passed
    over; raises Misused for what the environment says wrongly.
    """
    kept, complaints = read()
    for complaint in complaints:
        Failure(complaint).show()
    values: dict[str, Any] = kept | said_by_environment()
    if "SAMEDEAL_COLOR" not in os.environ and color_of_environment():
        values.pop("color", None)
    return replace(Settings(), **values)


def said_by_environment() -> dict[str, Value]:
    """The keys that have a variable, ``SAMEDEAL_`` and the key in capitals. Raises Misused for one that is wrong."""
    said = {key: os.environ.get(variable(key)) for key in KEYS}
    return {key: checked(key, text, variable(key)) for key, text in said.items() if text}


def variable(key: str) -> str:
    """The name of a key in the environment."""
    return f"SAMEDEAL_{key.upper()}"


def allowed(key: str) -> tuple[str, ...]:
    """How the values of a key may be written; empty for free text."""
    kind = _HINTS[key]
    if get_origin(kind) is Literal:
        return get_args(kind)
    return ("on", "off") if kind is bool else ()


def checked(key: str, value: object, where: str) -> Value:
    """A value of a key as it is used, from a text or a TOML value. Raises Misused, which says `where` it stands."""
    kind = _HINTS[key]
    if kind is bool:
        if isinstance(value, str):
            value = _SWITCH.get(value.strip().lower())
        if isinstance(value, bool):
            return value
        raise Misused(f"{where} must be on or off")
    if not isinstance(value, str):
        raise Misused(f"{where} must be a string")
    if choices := allowed(key):
        if value not in choices:
            raise Misused(f"{where} must be one of {', '.join(choices)}, not {value!r}")
        return value
    try:
        return _cleaned(key, value)
    except Failure as failure:
        raise Misused(f"{where}: {failure.format_message()}") from failure


def read() -> tuple[dict[str, Value], list[str]]:
    """The values that the file has, and what is wrong with the rest."""
    path = config_file()
    try:
        document, complaints = _parsed(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}, []
    except UnicodeDecodeError:
        return {}, [f"{path}: ignored, because it is not valid UTF-8"]
    except OSError as error:
        return {}, [f"{path}: {error.strerror}"]
    values: dict[str, Value] = {}
    for key, value in document.items():
        if key not in KEYS:
            complaints.append(f"unknown key {key!r}")
            continue
        try:
            values[key] = checked(key, value, key)
        except Misused as misused:
            complaints.append(misused.format_message())
    return values, [f"{path}: {complaint}" for complaint in complaints]


def changed(key: str, value: Value | None) -> None:
    """Writes a key, or with None removes it. Everything else in the file stays as it is, comments too.

    Raises Misused if the file is written so that this cannot be done, and OSError if it cannot be written.
    """
    path = config_file()
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    after = "".join(_edited(before.splitlines(keepends=True), key, value))
    (kept, were), (now, are) = _parsed(before), _parsed(after)
    lost = [name for name, old in kept.items() if name != key and now.get(name) != old]
    if lost or now.get(key) != value or len(are) > len(were):
        raise Misused(f"{path}: {key} is written there in a way that has to be changed by hand")
    _write(path, after)


def _cleaned(key: str, text: str) -> str:
    """Raises Failure."""
    if key == "server":
        return server_address(text)
    from samedeal.errors import Refused
    from samedeal.names import normalised

    try:
        return normalised(text)
    except Refused as refused:
        raise Misused(refused.text) from refused


def _parsed(text: str) -> tuple[dict[str, Any], list[str]]:
    """A document, and what is wrong with it. If it is broken, its lines are read one by one, up to the first table."""
    with suppress(tomllib.TOMLDecodeError):
        return tomllib.loads(text), []
    document: dict[str, Any] = {}
    complaints = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("["):
            break
        try:
            document |= tomllib.loads(line)
        except tomllib.TOMLDecodeError:
            complaints.append(f"line {number} is no TOML: {line.strip()}")
    return document, complaints


def _edited(lines: list[str], key: str, value: Value | None) -> Iterator[str]:
    """The lines with a key written where it stood, or after the other keys; the comment behind it stays there."""
    written = "" if value is None else f"{key} = {_toml(value)}"
    top = list(takewhile(lambda line: not line.lstrip().startswith("["), lines))
    names = {at: found["key"] for at, line in enumerate(top) if (found := _LINE.match(line))}
    new = "" if key in names.values() or not written else f"{written}\n"
    last = max(names, default=-1) if names or len(top) < len(lines) else len(lines) - 1
    if last < 0:
        yield new
    for at, line in enumerate(lines):
        if names.get(at) != key:
            yield line if line.endswith("\n") else f"{line}\n"
        elif written:
            comment = _comment(line)
            yield f"{written}{comment and f'  {comment}'}\n"
        if at == last:
            yield new


def _comment(line: str) -> str:
    """The comment at the end of a line with a value."""
    for at in (at for at, character in enumerate(line) if character == "#"):
        with suppress(tomllib.TOMLDecodeError):
            tomllib.loads(line[:at])
            return line[at:].strip()
    return ""


def _toml(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _write(path: Path, text: str) -> None:
    """All of it or nothing, and where the path is a link, what it leads to."""
    path = path.resolve()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with NamedTemporaryFile("w", dir=path.parent, prefix=".config-", encoding="utf-8", delete=False) as file:
        file.write(text)
    if path.exists():
        copymode(path, file.name)
    os.replace(file.name, path)

"""The configuration: reads ``config.toml`` and the environment, and edits the file."""

import os
import re
import tomllib
from dataclasses import replace
from pathlib import Path
from shutil import copymode
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any, Final, Literal, get_args, get_origin, get_type_hints

import platformdirs

from samedeal_cli.failure import Failure, Misused
from samedeal_cli.net.addresses import server_address
from samedeal_cli.settings import Settings, color_from_environment

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

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
    "auto_drop": "play a clicked card that has only one destination",
    "reactions": "show the racers' reactions",
    "screen_reader": "plain sentences instead of drawings",
}
"""The keys of the file, with descriptions. Types and defaults are those of the fields of Settings."""

Value = str | bool
_HINTS: Final = get_type_hints(Settings)
_SWITCH: Final = dict.fromkeys(("on", "true", "yes", "1"), True) | dict.fromkeys(("off", "false", "no", "0"), False)


def config_file() -> Path:
    """The path of the configuration file, which may not exist."""
    return platformdirs.user_config_path("samedeal") / "config.toml"


def configured() -> Settings:
    """Return the settings without flags. Precedence: environment, config file, default.

    Invalid entries of the file are reported on standard error and ignored. Raises Misused for an invalid variable.
    """
    from_file, warnings = read()
    for warning in warnings:
        Failure(warning).show()
    values: dict[str, Any] = from_file | environment_values()
    if "SAMEDEAL_COLOR" not in os.environ and color_from_environment():
        values.pop("color", None)
    return replace(Settings(), **values)


def environment_values() -> dict[str, Value]:
    """Return the values set by variables such as ``SAMEDEAL_COLOR``. Raises Misused for an invalid one."""
    texts = {key: os.environ.get(variable(key)) for key in KEYS}
    return {key: parse_value(key, text, variable(key)) for key, text in texts.items() if text}


def variable(key: str) -> str:
    """The environment variable of a key."""
    return f"SAMEDEAL_{key.upper()}"


def allowed(key: str) -> tuple[str, ...]:
    """The values allowed for a key; empty for free text."""
    kind = _HINTS[key]
    if get_origin(kind) is Literal:
        return get_args(kind)
    return ("on", "off") if kind is bool else ()


def parse_value(key: str, value: object, where: str) -> Value:
    """Convert a string or TOML value to the value of a key. Raises Misused; `where` is the source in its message."""
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
        return _parse_text(key, value)
    except Failure as failure:
        raise Misused(f"{where}: {failure.format_message()}") from failure


def read() -> tuple[dict[str, Value], list[str]]:
    """Return the valid values of the file, and warnings about the others."""
    path = config_file()
    try:
        text, _, warnings = _hide_invalid_lines(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}, []
    except UnicodeDecodeError:
        return {}, [f"{path}: ignored, because it is not valid UTF-8"]
    except OSError as error:
        return {}, [f"{path}: {error.strerror}"]
    values: dict[str, Value] = {}
    for key, value in tomllib.loads(text).items():
        if key not in KEYS:
            warnings.append(f"unknown key {key!r}")
            continue
        try:
            values[key] = parse_value(key, value, key)
        except Misused as misused:
            warnings.append(misused.format_message())
    return values, [f"{path}: {warning}" for warning in warnings]


def set_key(key: str, value: Value | None) -> None:
    """Write a key to the file or, with None, remove it. Comments, order and all other content are preserved.

    Raises OSError if the file cannot be written.
    """
    import tomlkit  # slow to import, and rarely needed

    path = config_file()
    before, hidden, _ = _hide_invalid_lines(path.read_text(encoding="utf-8") if path.exists() else "", replacing=key)
    document = tomlkit.parse(before)
    if value is None:
        document.pop(key, None)
    elif key in document:
        document[key] = value
    else:
        _insert(document, key, value)
    after = document.as_string()

    for placeholder, line in hidden.items():
        after = after.replace(placeholder, line)
    _write(path, after)


def _parse_text(key: str, text: str) -> str:
    """Normalize free text. Raises Failure."""
    if key == "server":
        return server_address(text)
    from samedeal.errors import Refused
    from samedeal.names import normalised

    try:
        return normalised(text)
    except Refused as refused:
        raise Misused(refused.text) from refused


def _hide_invalid_lines(text: str, *, replacing: str | None = None) -> tuple[str, dict[str, str], list[str]]:
    """Return valid TOML, the hidden lines by the comments that replace them, and warnings.

    In an invalid file, all tables are hidden too. An invalid line that sets the key `replacing` is not hidden, but gets
    an empty value.
    """
    if _is_toml(text):
        return text if text.endswith("\n") or not text else f"{text}\n", {}, []
    valid, hidden, warnings, in_table = "", {}, [], False
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        in_table = in_table or line.lstrip().startswith("[")
        if not in_table and _is_toml(valid + line):
            valid += line
            continue
        if not in_table:
            warnings.append(f"line {number} is not valid TOML: {line.strip()}")
        if not in_table and replacing and re.match(rf"\s*{replacing}\s*=", line):
            empty = f'{replacing} = ""\n'
            valid += empty if _is_toml(valid + empty) else ""  # at most once
        else:
            placeholder = f"# samedeal: line {number}\n"
            valid += placeholder
            hidden[placeholder] = line
    return valid, hidden, warnings


def _is_toml(text: str) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _insert(document: "TOMLDocument", key: str, value: Value) -> None:
    """Insert a key after the other keys and before the first table and its comments."""
    from tomlkit.items import AbstractTable, AoT, SingleKey, item

    tables = [isinstance(entry, AbstractTable | AoT) for _, entry in document.body]
    keys = [at for at, (name, _) in enumerate(document.body) if name is not None and not tables[at]]
    at = keys[-1] + 1 if keys else 0 if any(tables) else len(tables)
    new = item(value)
    new.trivia.trail = "\n"
    document.body.insert(at, (SingleKey(key), new))


def _write(path: Path, text: str) -> None:
    """Replace the file atomically. A symbolic link is followed."""
    path = path.resolve()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with NamedTemporaryFile("w", dir=path.parent, prefix=".config-", encoding="utf-8", delete=False) as file:
        file.write(text)
    if path.exists():
        copymode(path, file.name)
    os.replace(file.name, path)

"""The configuration: reads ``config.toml`` and the environment, and edits the file."""

import os
import re
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from shutil import copymode
from tempfile import NamedTemporaryFile
from typing import Annotated, Any, Final, Literal, NamedTuple, get_args, get_origin, get_type_hints

import platformdirs

from samedeal_cli.failure import Failure, Misused
from samedeal_cli.net.addresses import server_address
from samedeal_cli.settings import Settings, color_from_environment

Value = str | bool
_HINTS: Final = get_type_hints(Settings)
_ANNOTATED: Final = get_type_hints(Settings, include_extras=True).items()
KEYS: Final[dict[str, str]] = {key: hint.__metadata__[0] for key, hint in _ANNOTATED if get_origin(hint) is Annotated}
"""The keys of the file, with descriptions."""
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
    if key not in KEYS:
        raise Misused(f"unknown key {key!r}")
    if _HINTS[key] is bool:
        switch = _SWITCH.get(value.strip().lower()) if isinstance(value, str) else value
        if isinstance(switch, bool):
            return switch
        raise Misused(f"{where} must be on or off")
    if not isinstance(value, str):
        raise Misused(f"{where} must be a string")
    if choices := allowed(key):
        if value not in choices:
            raise Misused(f"{where} must be one of {', '.join(choices)}, not {value!r}")
        return value
    from samedeal.errors import Refused
    from samedeal.names import normalised

    try:
        return server_address(value) if key == "server" else normalised(value)
    except (Failure, Refused) as error:
        raise Misused(f"{where}: {error}") from error


def read() -> tuple[dict[str, Value], list[str]]:
    """Return the valid values of the file, and warnings about the others."""
    path, values, warnings = config_file(), dict[str, Value](), list[str]()
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return {}, []
    except UnicodeDecodeError:
        return {}, [f"{path}: ignored, because it is not valid UTF-8"]
    except OSError as error:
        return {}, [f"{path}: {error.strerror}"]
    for statement in _statements(text):
        if statement.content is None and not statement.is_table:
            warnings.append(f"line {statement.line} is not valid TOML: {statement.text.strip()}")
        for key, value in (statement.content or {}).items():
            try:
                values[key] = parse_value(key, value, key)
            except Misused as misused:
                warnings.append(misused.format_message())
    return values, [f"{path}: {warning}" for warning in warnings]


def set_key(key: str, value: Value | None) -> None:
    """Write a key to the file or, with None, remove it. Comments, order and all other content are preserved.

    Raises OSError if the file cannot be written.
    """
    path = config_file()
    statements = list(_statements(path.read_text(encoding="utf-8") if path.exists() else ""))
    own = next((at for at, each in enumerate(statements) if each.sets(key) and not each.is_table), None)
    if own is None:  # after the other keys, and before the first table and its comments
        keys = [at for at, each in enumerate(statements) if each.content and not each.is_table]
        own = keys[-1] + 1 if keys else 0 if any(each.is_table for each in statements) else len(statements)
        statements.insert(own, _Statement(0, ""))
    statements[own] = _Statement(0, "" if value is None else _assignment(statements[own].text, key, value))
    _write(path, "".join(each.text for at, each in enumerate(statements) if at == own or not each.sets(key)))


class _Statement(NamedTuple):
    """A part of the file: a key with its value, a table with its keys, a comment or an invalid line."""

    line: int
    text: str
    content: dict[str, Any] | None = None
    """None if it is invalid."""

    @property
    def is_table(self) -> bool:
        return self.text.lstrip().startswith("[")

    def sets(self, key: str) -> bool:
        """Return whether it sets a key, even if it is invalid."""
        return key in (self.content or ()) or bool(re.match(rf"\s*{key}\s*=", self.text))


def _statements(text: str) -> Iterator[_Statement]:
    """Split a file. A second statement about a key is invalid."""
    lines = [line if line.endswith("\n") else f"{line}\n" for line in text.splitlines(keepends=True)]
    at, known = 0, set[str]()
    while at < len(lines):
        ends = list(range(at + 1, len(lines) + 1))
        if lines[at].lstrip().startswith("["):
            ends = [next((end for end in ends[:-1] if lines[end].lstrip().startswith("[")), len(lines))]
        parsed = ((end, _parsed("".join(lines[at:end]))) for end in ends)
        end, content = next((each for each in parsed if each[1] is not None), (ends[0], None))
        if content and content.keys() & known:
            content = None
        known |= (content or {}).keys() & KEYS.keys()
        yield _Statement(at + 1, "".join(lines[at:end]), content)
        at = end


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _assignment(text: str, key: str, value: Value) -> str:
    """Return a statement that sets a key. The comment of the one that it replaces is preserved."""
    import json  # slow to import, and rarely needed

    quoted = json.dumps(value, ensure_ascii=False)
    changed = re.sub(rf"^(\s*{key}\s*=\s*)(\"[^\"]*\"|'[^']*'|\w+)", lambda match: match[1] + quoted, text)
    return changed if _parsed(changed) == {key: value} else f"{key} = {quoted}\n"


def _write(path: Path, text: str) -> None:
    """Replace the file atomically. A symbolic link is followed."""
    path = path.resolve()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with NamedTemporaryFile("w", dir=path.parent, prefix=".config-", encoding="utf-8", delete=False) as file:
        file.write(text)
    if path.exists():
        copymode(path, file.name)
    os.replace(file.name, path)

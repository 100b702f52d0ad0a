"""The configuration: reads ``config.toml`` and the environment, and edits the file."""

import os
import tomllib
from dataclasses import replace
from errno import EINVAL
from pathlib import Path
from shutil import copymode
from tempfile import NamedTemporaryFile
from typing import Annotated, Any, Final, Literal, get_args, get_origin, get_type_hints

import platformdirs

from samedeal_cli.addresses import server_address
from samedeal_cli.failure import Failure, Misused
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


def configured(*, warns: bool = True) -> Settings:
    """Return the settings without flags. Precedence: environment, config file, default.

    Invalid entries of the file are ignored and, if it `warns`, reported on standard error. So are invalid variables,
    which are never reported.
    """
    from_file, warnings = read()
    for warning in warnings if warns else ():
        Failure(warning).show()
    values: dict[str, Any] = from_file | environment_values()[0]
    if "SAMEDEAL_COLOR" not in os.environ and color_from_environment():
        values.pop("color", None)
    return replace(Settings(), **values)


def environment_values() -> tuple[dict[str, Value], dict[str, str]]:
    """Return the values set by variables such as ``SAMEDEAL_COLOR``, and what is wrong with the other variables."""
    values, wrong = dict[str, Value](), dict[str, str]()
    for key in KEYS:
        if text := os.environ.get(variable(key)):
            try:
                values[key] = parse_value(key, text, variable(key))
            except Misused as misused:
                wrong[variable(key)] = misused.format_message()
    return values, wrong


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
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}, []
    except (ValueError, RecursionError) as error:
        return {}, [f"{path}: ignored, because it is not valid {_invalid(error)}"]
    except OSError as error:
        return {}, [f"{path}: {error.strerror}"]
    for key, value in content.items():
        try:
            values[key] = parse_value(key, value, key)
        except Misused as misused:
            warnings.append(f"{path}: {misused.format_message()}")
    return values, warnings


def set_key(key: str, value: Value | None) -> None:
    """Write a key to the file or, with None, remove it. Comments, order and all other content are preserved.

    Raises OSError if the file is not valid or cannot be written.
    """
    import tomlkit  # slow to import, and rarely needed

    path = config_file()
    try:
        document = tomlkit.parse(path.read_bytes().decode() if path.exists() else "")
    except (ValueError, RecursionError) as error:
        text = f"the configuration is not changed, because it is not valid {_invalid(error)}"
        raise OSError(EINVAL, text, f"{path}") from error
    if value is None or isinstance(document.get(key), dict):  # tomlkit cannot replace a table by a value
        document.pop(key, None)
    if value is not None:
        document[key] = value
    _write(path, tomlkit.dumps(document))


def _invalid(error: Exception) -> str:
    """What a file is not, and why."""
    return "UTF-8" if isinstance(error, UnicodeDecodeError) else f"TOML: {error}"


def _write(path: Path, text: str) -> None:
    """Replace the file atomically. A symbolic link is followed."""
    path = path.resolve()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=path.parent, prefix=".config-", delete=False) as file:
        file.write(text.encode())
    if path.exists():
        copymode(path, file.name)
    os.replace(file.name, path)

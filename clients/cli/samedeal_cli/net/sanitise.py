"""Sanitising: text that comes from a server or a file, made safe to print on a terminal.

Control characters, C1 controls, bidirectional and other format characters, surrogates and unassigned code points can
move the cursor, reprogram the terminal or disguise one text as another. Each becomes U+FFFD.
"""

import re
import sys
from typing import Any, Final, TypeVar, cast

import click

T = TypeVar("T")

REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"
MULTILINE: Final = frozenset({"layout"})
"""The fields whose text has several lines; their line feeds are kept."""
_NOT_ASCII: Final = re.compile("[^\n -~]")


def safe_text(text: str, keep: str = "") -> str:
    """Replace every unprintable character of a text, except those in `keep`."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() or character in keep else REPLACEMENT for character in text)


def safe(value: T) -> T:
    """Return a copy of decoded data in which every string is safe, including the keys of dictionaries.

    Walks lists, tuples, dictionaries and msgspec structs; other values are returned unchanged. Raises RecursionError
    for data that is nested too deeply.
    """
    return cast(T, _safe(value, ""))


def print_file(data: bytes) -> None:
    r"""Write the exact bytes of a file to standard output or, on a terminal, an equivalent safe text.

    On a terminal, unprintable characters in JSON strings are written as ``\uXXXX``.
    """
    click.echo(json_escaped(data) if sys.stdout.isatty() else data, nl=False)


def json_escaped(data: bytes) -> bytes:
    r"""Write every unprintable character of JSON, except line feeds, as ``\uXXXX``."""
    return _NOT_ASCII.sub(_escaped, data.decode("utf-8", "replace")).encode()


def _safe(value: Any, field: str) -> Any:
    if isinstance(value, str):
        return safe_text(value, "\n" if field in MULTILINE else "")
    if isinstance(value, dict):
        return {_safe(key, ""): _safe(item, key) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_safe(item, field) for item in value)
    if names := getattr(value, "__struct_fields__", None):  # a Struct; importing msgspec is slow
        return type(value)(**{name: _safe(getattr(value, name), name) for name in names})
    return value


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    if character.isprintable():
        return character
    utf16 = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{utf16[at : at + 2].hex()}" for at in range(0, len(utf16), 2))

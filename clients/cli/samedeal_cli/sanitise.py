"""Sanitising: text that comes from a server or a file, made safe to print on a terminal.

Control characters, C1 controls, bidirectional and other format characters, surrogates and unassigned code points can
move the cursor, reprogram the terminal or disguise one text as another. Each becomes U+FFFD. Joiners are kept: some
names are spelled with them.
"""

import re
import sys
from typing import Any, Final, TypeVar, cast

import click

from samedeal.names import JOINERS

T = TypeVar("T")

REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"
MULTILINE: Final = frozenset({"layout"})
"""The fields whose text has several lines; their line feeds are kept."""
_NOT_ASCII: Final = re.compile("[^\n -~]")


def safe_text(text: str, keep: str = "") -> str:
    """Replace every unprintable character of a text, except joiners and those in `keep`."""
    if text.isprintable():
        return text
    keep += JOINERS
    return "".join(character if character.isprintable() or character in keep else REPLACEMENT for character in text)


def safe(value: T, field: str = "") -> T:
    """Return a copy of decoded data in which every string is safe, including the keys of dictionaries.

    Walks lists, tuples, dictionaries and msgspec structs; other values are returned unchanged. `field` is the name of
    the field with the value. Raises RecursionError for data that is nested too deeply.
    """
    data: Any = value
    if isinstance(data, str):
        data = safe_text(data, "\n" if field in MULTILINE else "")
    elif isinstance(data, dict):
        data = {safe(key): safe(item, key) for key, item in data.items()}
    elif isinstance(data, list | tuple):
        data = type(data)(safe(item, field) for item in data)
    elif names := getattr(data, "__struct_fields__", None):  # a Struct; importing msgspec is slow
        data = type(data)(**{name: safe(getattr(data, name), name) for name in names})
    return cast(T, data)


def print_file(data: bytes) -> None:
    r"""Write the exact bytes of a file to standard output or, on a terminal, an equivalent safe text.

    On a terminal, unprintable characters in JSON strings are written as ``\uXXXX``.
    """
    click.echo(json_escaped(data) if sys.stdout.isatty() else data, nl=False)


def json_escaped(data: bytes) -> bytes:
    r"""Write every unprintable character of JSON, except line feeds, as ``\uXXXX``."""
    return _NOT_ASCII.sub(_escaped, data.decode("utf-8", "replace")).encode()


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    if character.isprintable():
        return character
    utf16 = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{utf16[at : at + 2].hex()}" for at in range(0, len(utf16), 2))

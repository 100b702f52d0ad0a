"""Alterations of the text of a replay: numbers in other forms, white space, escapes, bytes and lines."""

import re
from collections.abc import Callable
from random import Random

from support.alterations import ANY, REFUSED, SAME, TEXT_CHANGES, UNREADABLE, TextChange

NUMBER = r"(?<=[\[:,])\d[\d.]*(?=[,}])"
STRING = r'"(?:[^"\\]|\\.)*"'
NAME = r'(?<="name":")[^"\\]*'
FIELD = r'"\w+":(?:"[^"\\]*"|\d+|true|false)'
ESCAPES = (rb"\x41", rb"\u12", rb"\'", rb"\U0041", rb"\0", b"\\", rb"\u{41}", b"\x01", b"\x1f", b"\n", b"\t", b'"')
NOT_UTF_8 = (b"\xff", b"\x80", b"\xc0\xaf", b"\xf5\x80\x80\x80", b"\xe2\x82", b"\xf4\x90\x80\x80")
SURROGATES = (rb"\ud83c", rb"\udca1", rb"\udca1\ud83c", b"\xed\xa0\xbc", rb"\ud83c\u0041", b"\xed\xa0\xbc\xed\xb2\xa1")
UNUSUAL = (rb"\/", rb"\u0000", rb"\u001F", rb"\u001f", rb"\b", rb"\ud83c\udca1", rb"\uFEFF", b"\x7f", b"\xe2\x80\xa8")
DIGITS = b'0123456789abcdef",:[]{}\\ \n'


def kind(change: TextChange) -> TextChange:
    """Register a change under its name."""
    TEXT_CHANGES[change.__name__.replace("_", " ")] = change
    return change


def _replaced(data: bytes, random: Random, pattern: str, change: Callable[[bytes], bytes]) -> bytes:
    """Return the text with one match of a pattern replaced, or the same text if there is none."""
    found = list(re.finditer(pattern.encode(), data))
    if not found:
        return data
    match = random.choice(found)
    return data[: match.start()] + change(match[0]) + data[match.end() :]


def _patterns(name: str, pattern: str, others: tuple[bytes, ...], expected: str = UNREADABLE) -> None:
    """Register a kind that replaces a match. In the other text, ``@`` is the match, and ``~`` is it without the quote
    at its end. In MessagePack, and where JSON text is not one line, nothing else is known.
    """

    def change(data: bytes, random: Random, form: str) -> tuple[bytes, str]:
        if form in ("msgpack", "loose json"):
            return data, ANY
        other = random.choice(others)
        data = _replaced(data, random, pattern, lambda found: other.replace(b"~", found[:-1]).replace(b"@", found))
        return data, UNREADABLE if expected == SAME and form == "lines" else expected

    TEXT_CHANGES[name] = change


_patterns(
    "a number has another form",
    NUMBER,
    (b"@.0", b"@e0", b"@E0", b"@e+0", b"@0e-1", b"0@", b"+@", b"1e400", b"9" * 400, b"9007199254740993", b"@.", b"-"),
)
_patterns("zero has a sign", r"(?<=[:,])0(?=[,}])", (b"-@",))
_patterns("progress has a sign", r'(?<="progress":)[\d.]+', (b"-@",), REFUSED)
_patterns(
    "progress has another form",
    r'(?<="progress":)[\d.]+',
    (b"@0", b"@000000000000000001", b"+@", b"@e0", b"@e-0", b"0@", b"0", b"1", b"-0", b"0.00", b"0e0", b"1e-400"),
)
_patterns(
    "a value is not JSON",
    NUMBER,
    (
        *(b"NaN", b"Infinity", b"True", b"0x1", b"'1'", b"undefined", b"", b"@,", b"/**/@", b"@n"),
        *(b"[" * 100_000, b"@" + b"0" * 5000, b'@,"more":' + b"[" * 900 + b"]" * 900, b'{"a":' * 100_000),
    ),
)
_patterns("a field is duplicate", FIELD + r"(?=[,}])", (b"@,@", b"@ , @", b'@,"\\"":1'))
_patterns("an escape is wrong", STRING, tuple(b"~" + wrong + b'"' for wrong in (*ESCAPES, *NOT_UTF_8, *SURROGATES)))
_patterns("a name has an unusual character", NAME, tuple(b"@" + other for other in UNUSUAL), REFUSED)
_patterns("there is white space", r'(?<=[\]}"\d])[,:](?=[\[{"\d])', (b"@ ", b"@\n", b"@\r\n", b"@\t"), SAME)
_patterns(
    "there is other white space",
    r'(?<=[\]}"\d])[,:](?=[\[{"\d])',
    (b"@\x0b", b"@\x0c", b"@\xc2\xa0", b"@\xe2\x80\xa8"),
)


@kind
def a_character_is_escaped(data: bytes, random: Random, form: str) -> tuple[bytes, str]:
    """In a name or a value, as it may be in JSON."""

    def escaped(string: bytes) -> bytes:
        text = string[1:-1].decode()
        if not text or "\\" in text or ord(text[0]) > 0xFFFF:
            return string
        code = f"{ord(text[0]):04x}"
        return f'"\\u{random.choice((code, code.upper()))}{text[1:]}"'.encode()

    if form in ("msgpack", "loose json"):
        return data, ANY
    return _replaced(data, random, STRING, escaped), SAME if form == "json" else UNREADABLE


@kind
def fields_are_in_another_order(data: bytes, random: Random, form: str) -> tuple[bytes, str]:
    def swapped(fields: bytes) -> bytes:
        return b",".join(reversed(re.split(rb',(?="\w+":)', fields)))

    if form in ("msgpack", "loose json"):
        return data, ANY
    return _replaced(data, random, f"{FIELD},{FIELD}(?=[,}}])", swapped), SAME if form == "json" else UNREADABLE


# Bytes, in all forms.


@kind
def the_text_is_in_another_encoding(data: bytes, random: Random, form: str) -> tuple[bytes, str]:
    if form != "msgpack" and random.randrange(2):
        return data.decode().encode(random.choice(("utf-16", "utf-16-le", "utf-16-be", "utf-32"))), UNREADABLE
    mark = random.choice((b"\xef\xbb\xbf", b"\xfe\xff", b"\xff\xfe"))
    return random.choice((mark + data, data + mark)), UNREADABLE


@kind
def bytes_are_others(data: bytes, random: Random, form: str) -> tuple[bytes, str]:
    """One byte is another, is missing or is added, or some are."""
    index = random.randrange(len(data))
    end = index + random.choice((0, 1, 1, 1, random.randrange(40)))
    one = random.choice((bytes([random.randrange(256)]), bytes([random.choice(DIGITS)])))
    other = random.choice((one, one, one, b"", b"{}", random.randbytes(8)))
    return data[:index] + other + data[end:], ANY


@kind
def the_file_is_cut(data: bytes, random: Random, form: str) -> tuple[bytes, str]:
    cut = data[: random.choice((0, 1, len(data) - 1, len(data) - 2, random.randrange(len(data))))]
    return cut, ANY if form == "loose json" else UNREADABLE


@kind
def something_follows(data: bytes, random: Random, form: str) -> tuple[bytes, str]:
    space = random.choice((b"\n", b" ", b"\r\n", b"\n\n"))
    if random.randrange(2):
        return data + space, SAME if form in ("json", "loose json") else UNREADABLE
    return data + random.choice((b"{}", b"\0", b",", b"null", b"\x0b", b"x", b"\xc0", b"[" * 100_000, data)), UNREADABLE


@kind
def something_comes_first(data: bytes, random: Random, form: str) -> tuple[bytes, str]:
    if random.randrange(2):
        return random.choice((b"\n", b" ", b"\t\r\n", b"\n\n")) + data, SAME if "json" in form else UNREADABLE
    return random.choice((b"\x0b", b"\xc2\xa0", b"{}\n", b"[", b"\0", b"#!\n", b"{" * 100_000)) + data, UNREADABLE


@kind
def the_file_is_something_else(data: bytes, random: Random, form: str) -> tuple[bytes, str]:
    others = (b"", b" ", b"{", b"{}", b"[]", b"null", b"\x00", b"\xc1", b"\x80", b"\x91" * 100_000, b"\xff\xfe{")
    return random.choice((*others, random.randbytes(200))), UNREADABLE


# Lines.


@kind
def lines_are_others(data: bytes, random: Random, form: str) -> tuple[bytes, str]:
    """One is empty, missing or repeated, ends otherwise, or is very long; or all are in an array."""
    if form != "lines":
        return data, ANY
    lines = data.splitlines(keepends=True)
    index = random.choice((0, random.randrange(len(lines)), len(lines) - 1))
    line, inner = lines[index], 0 < index < len(lines) - 1
    end = random.choice((b"\r\n", b" \n", b"", b"\n\n", b"\r"))
    name = random.choice((b"", *re.findall(NAME.encode(), line)))
    length = 65_536 + random.choice((0, 1, 10**5)) - len(line)
    long = line.replace(name, name + b"x" * length, 1 if name else 0)
    ways = [([b"\n", line], False), ([], inner), ([line, line], inner), ([line.rstrip(b"\n") + end], False)]
    new, readable = random.choice([*ways, ([long], True), ([b" " + line], False)])
    if random.randrange(8) == 0:
        return b"[" + b",".join(data.splitlines()) + b"]", UNREADABLE
    return b"".join([*lines[:index], *new, *lines[index + 1 :]]), REFUSED if readable else UNREADABLE

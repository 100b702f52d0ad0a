"""Alterations of the text of a replay: numbers in other forms, white space, escapes, bytes and lines."""

import re
from collections.abc import Callable
from random import Random
from typing import Final

Change = Callable[[bytes, Random], bytes]
"""Returns another text, or the same if that is not possible."""
CHANGES: Final[dict[str, Change]] = {}
_NUMBER = re.compile(rb"(?<=[\[:,])\d[\d.]*(?=[,}])")
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')
_NAME = re.compile(rb'(?<="name":")[^"\\]*')


def kind(change: Change) -> Change:
    """Register a change under its name."""
    CHANGES[change.__name__.replace("_", " ")] = change
    return change


def _replaced(data: bytes, random: Random, pattern: re.Pattern[bytes], change: Callable[[bytes], bytes]) -> bytes:
    """Return the text with one match of a pattern replaced."""
    found = list(pattern.finditer(data))
    if not found:
        return data
    match = random.choice(found)
    return data[: match.start()] + change(match[0]) + data[match.end() :]


# Numbers.


@kind
def a_number_has_a_point(data: bytes, random: Random) -> bytes:
    return _replaced(data, random, _NUMBER, lambda number: number + b".0")


@kind
def a_number_has_an_exponent(data: bytes, random: Random) -> bytes:
    end = random.choice((b"e0", b"E0", b"e+0", b"0e-1"))
    return _replaced(data, random, _NUMBER, lambda number: number + end)


@kind
def zero_has_a_sign(data: bytes, random: Random) -> bytes:
    return _replaced(data, random, re.compile(rb"(?<=[:,])0(?:\.0)?(?=[,}])"), lambda number: b"-" + number)


@kind
def progress_has_another_form(data: bytes, random: Random) -> bytes:
    forms: list[Callable[[bytes], bytes]] = [
        lambda number: number + b"0",
        lambda number: number + b"000000000000000001",
        lambda number: number.removesuffix(b".0"),
        lambda number: number[1:],
        lambda number: b"%re0" % float(number),
        lambda number: b"%re-1" % (float(number) * 10),
        lambda number: b"+" + number,
    ]
    return _replaced(data, random, re.compile(rb'(?<="progress":)[\d.]+'), random.choice(forms))


@kind
def a_number_has_leading_zeros(data: bytes, random: Random) -> bytes:
    return _replaced(data, random, _NUMBER, lambda number: b"0" + number)


@kind
def a_number_is_very_large(data: bytes, random: Random) -> bytes:
    other = random.choice((b"9007199254740991", b"9007199254740992", b"9007199254740993", b"1e400", b"9" * 400))
    return _replaced(data, random, _NUMBER, lambda _: other)


@kind
def a_value_is_not_json(data: bytes, random: Random) -> bytes:
    other = random.choice((b"NaN", b"Infinity", b"True", b"0x1", b"'1'", b"undefined", b"", b"1,", b"/**/1", b"1n"))
    return _replaced(data, random, _NUMBER, lambda _: other)


# Fields and strings.


@kind
def a_field_is_duplicate(data: bytes, random: Random) -> bytes:
    """With the same value first, or with another."""
    field = re.compile(rb'("\w+":)("[^"\\]*"|\d+|true|false)(?=[,}])')
    other = random.choice((b"", b"0", b'""', b"{}"))

    def twice(text: bytes) -> bytes:
        name, _, value = text.partition(b":")
        return name + b":" + (other or value) + b"," + text

    return _replaced(data, random, field, twice)


@kind
def fields_are_in_another_order(data: bytes, random: Random) -> bytes:
    pair = re.compile(rb'"\w+":(?:"[^"\\]*"|\d+|true|false),"\w+":(?:"[^"\\]*"|\d+|true|false)(?=[,}])')
    return _replaced(data, random, pair, lambda text: b",".join(reversed(re.split(rb',(?="\w+":)', text))))


@kind
def a_character_is_escaped(data: bytes, random: Random) -> bytes:
    """In a name or a value, as it may be in JSON."""

    def escaped(string: bytes) -> bytes:
        text = string[1:-1].decode()
        if not text or "\\" in text or ord(text[0]) > 0xFFFF:
            return string
        code = f"{ord(text[0]):04x}"
        return f'"\\u{random.choice((code, code.upper()))}{text[1:]}"'.encode()

    return _replaced(data, random, _STRING, escaped)


@kind
def an_escape_is_wrong(data: bytes, random: Random) -> bytes:
    escapes = (rb"\x41", rb"\u12", rb"\'", rb"\U0041", rb"\0", b"\\", rb"\u{41}", b"\x01", b"\x1f", b"\n", b"\t", b'"')
    wrong = random.choice(escapes)
    return _replaced(data, random, _STRING, lambda string: string[:-1] + wrong + b'"')


@kind
def a_name_has_an_unusual_character(data: bytes, random: Random) -> bytes:
    escapes = (rb"\/", rb"\u0000", rb"\u001F", rb"\u001f", rb"\b", rb"\ud83c\udca1", rb"\uFEFF")
    other = random.choice((*escapes, b"\x7f", b"\xe2\x80\xa8"))
    return _replaced(data, random, _NAME, lambda name: name[:1] + other)


@kind
def a_name_has_half_a_surrogate_pair(data: bytes, random: Random) -> bytes:
    halves = (rb"\ud83c", rb"\udca1", rb"\udca1\ud83c", b"\xed\xa0\xbc", rb"\ud83c\u0041", b"\xed\xa0\xbc\xed\xb2\xa1")
    other = random.choice(halves)
    return _replaced(data, random, _NAME, lambda name: name[:1] + other)


# Bytes.


@kind
def bytes_are_not_utf_8(data: bytes, random: Random) -> bytes:
    wrong = random.choice((b"\xff", b"\x80", b"\xc0\xaf", b"\xf5\x80\x80\x80", b"\xe2\x82", b"\xf4\x90\x80\x80"))
    return _replaced(data, random, _STRING, lambda string: string[:-1] + wrong + b'"')


@kind
def there_is_a_byte_order_mark(data: bytes, random: Random) -> bytes:
    mark = random.choice((b"\xef\xbb\xbf", b"\xfe\xff", b"\xff\xfe"))
    return random.choice((mark + data, data.replace(b"\n", b"\n" + mark, 1), data + mark))


@kind
def the_text_is_utf_16(data: bytes, random: Random) -> bytes:
    return data.decode().encode(random.choice(("utf-16", "utf-16-le", "utf-16-be", "utf-32")))


@kind
def a_byte_is_another(data: bytes, random: Random) -> bytes:
    index = random.randrange(len(data))
    other = random.choice((random.randrange(256), random.choice(b'0123456789abcdef",:[]{}')))
    return data[:index] + bytes([other]) + data[index + 1 :]


@kind
def a_byte_is_missing_or_added(data: bytes, random: Random) -> bytes:
    index = random.randrange(len(data))
    if random.randrange(2):
        return data[:index] + data[index + 1 :]
    return data[:index] + bytes([random.choice(b'0123456789abcdef",:[]{} \n')]) + data[index:]


@kind
def the_file_is_cut(data: bytes, random: Random) -> bytes:
    return data[: random.choice((0, 1, len(data) - 1, len(data) - 2, random.randrange(len(data))))]


@kind
def something_follows(data: bytes, random: Random) -> bytes:
    return data + random.choice((b"{}", b"\n", b" ", b"\n\n", b"\0", b",", b"null", b"\r\n", b"\x0b", data))


@kind
def something_comes_first(data: bytes, random: Random) -> bytes:
    return random.choice((b"\n", b" ", b"\t\r\n", b"\x0b", b"\xc2\xa0", b"{}\n", b"[", b"\0", b"\n\n", b"#!\n")) + data


@kind
def there_is_white_space(data: bytes, random: Random) -> bytes:
    space = random.choice((b" ", b"\n", b"\r\n", b"\t", b"\x0b", b"\x0c", b"\xc2\xa0", b"\xe2\x80\xa8"))
    return _replaced(data, random, re.compile(rb'(?<=[\]}"\d])[,:](?=[\[{"\d])'), lambda mark: mark + space)


# Lines. In JSON, which has one, most of these change little.


def _lines(data: bytes, random: Random, change: Callable[[list[bytes], int], object]) -> bytes:
    lines = data.splitlines(keepends=True)
    change(lines, random.randrange(len(lines)))
    return b"".join(lines)


@kind
def a_line_is_empty(data: bytes, random: Random) -> bytes:
    return _lines(data, random, lambda lines, index: lines.insert(index, b"\n"))


@kind
def a_line_is_missing(data: bytes, random: Random) -> bytes:
    return _lines(data, random, lambda lines, index: lines.pop(random.choice((0, index, -1))))


@kind
def a_line_is_repeated(data: bytes, random: Random) -> bytes:
    return _lines(data, random, lambda lines, index: lines.insert(random.choice((0, len(lines))), lines[index]))


@kind
def a_line_ends_otherwise(data: bytes, random: Random) -> bytes:
    end = random.choice((b"\r\n", b" \n", b"", b"\n\n", b"\r"))

    def change(lines: list[bytes], index: int) -> None:
        lines[index] = lines[index].rstrip(b"\n") + end

    return _lines(data, random, change)


@kind
def a_line_is_very_long(data: bytes, random: Random) -> bytes:
    """Just as long as allowed, or longer."""
    length = 65_536 + random.choice((0, 1, 10**5))

    def change(lines: list[bytes], index: int) -> None:
        index = random.choice((index, -1))
        name = random.choice((b"", *_NAME.findall(lines[index])))
        lines[index] = lines[index].replace(name, name + b"x" * max(0, length - len(lines[index])), 1 if name else 0)

    return _lines(data, random, change)


@kind
def lines_are_an_array(data: bytes, random: Random) -> bytes:
    lines = data.splitlines()
    return b"[" + b",".join(lines) + b"]" if random.randrange(2) else b"\x1e" + b"\n\x1e".join(lines)

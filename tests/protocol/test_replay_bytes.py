"""Invalid bytes as replays: they are refused and never crash the reader."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from samedeal.errors import Refused
from samedeal.proof.verification import verify
from samedeal.replays.replay import MAX_BYTES, read
from samedeal.wire import codec
from support.finished_races import finished
from support.replay_edits import FORMS, failures, plain, race_of


def refusal(data: bytes) -> str:
    with pytest.raises(Refused) as raised:
        read(data)
    assert raised.value.code == "bad-replay"
    return raised.value.text


Damage = Callable[[Any], None]


def _set(*path: Any) -> Damage:
    """Return a function that sets the value at a path to the last argument."""

    def damage(content: Any) -> None:
        *way, field, value = path
        for step in way:
            content = content[step]
        content[field] = value

    return damage


def _without(*path: Any) -> Damage:
    def damage(content: Any) -> None:
        *way, field = path
        for step in way:
            content = content[step]
        del content[field]

    return damage


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "damage",
    [
        _set("format", "other.replay/1"),
        _set("format", None),
        _set("more", 1),
        _set("header", "more", 1),
        _set("header", "options", "more", 1),
        _set("entries", 0, 2, "more", 1),
        _set("entries", 1, 2, "t", "cheated"),
        _set("entries", 0, [1]),
        _set("entries", 0, {}),
        _set("entries", {}),
        _set("standings", 0, "more", 1),
        _set("standings", 0, "home", "4"),
        _set("standings", 0, 7),
        _set("digest", 5),
        _set("entries", 0, 0, 0),
        _set("entries", 0, 0, -1),
        _set("entries", 0, 0, 1.5),
        _set("entries", 0, 0, "1"),
        _set("entries", 0, 0, True),
        _set("entries", 0, 1, 2**53),
        _set("entries", 0, 1, 2**63),
        _set("entries", 0, 2, None),
        _set("entries", 0, 2, "seat", 2**64 - 1),
        _set("entries", 0, 2, "name", ""),
        _set("entries", 0, 2, "bot", False),
        _set("header", "options", "undo", True),
        _set("header", "variant", {}),
        _set("header", "commitment", "F" * 64),
        _set("header", "race", "../etc"),
        _without("header"),
        _without("entries"),
        _without("standings"),
        _without("digest"),
        _without("format"),
        _without("entries", 0, 3),
        _without("entries", 0, 2, "t"),
    ],
)
def test_content_of_the_wrong_shape_is_refused(form: codec.Form, damage: Damage) -> None:
    content = plain(race_of("corners"))
    read(codec.encode(content, "json"))
    damage(content)
    refusal(codec.encode(content, form))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"place":1', b'"place":9,"place":1'),
        (b'"place":1', b'"place":1,"place":1'),
        (b'"place":1', b'"place":1' + b"0" * 5_000),
        (b'"place":1', b'"place":1 , "place" : 1'),
        (b'"place":1', b'"place":1,"pl\\u0061ce":1'),
        (b'"place":1', b'"place":1,"\\"":1'),
        (b'"limit_ms"', b'"undo":true,"limit_ms"'),
        (b'"place":1', b'"place":NaN'),
        (b'"place":1', b'"place":1e999'),
        (b'"place":1', b'"place":1,"more":NaN'),
        (b'"place":1', b'"place":1,"more":' + b"[" * 100_000),
        (b'"place":1', b'"place":1,"more":' + b"[" * 900 + b"]" * 900),
        (b'"place":1', b'"place":1,"more":' + b'{"a":' * 100_000),
        (b'"place":1', b'"place":1.0'),
        (b'"place":1', b'"place":1e0'),
        (b'"ada"', b'"\\ud800"'),
        (b'"ada"', b'"\xff"'),
        (b'"ada"', b"'ada'"),
    ],
    ids=lambda text: text[:24].decode(errors="replace"),
)
def test_ambiguous_json_is_refused(old: bytes, new: bytes) -> None:
    data = codec.encode(race_of("corners"), "json")
    assert data.count(old) >= 1
    refusal(data.replace(old, new, 1))


@pytest.mark.parametrize("zero", [b"0", b"-0", b"0.00", b"0e0", b"0.0e0", b"1e-400"])
def test_progress_in_another_form_is_refused(zero: bytes) -> None:
    data = codec.encode(finished("corners", moves=0), "json")
    assert data.count(b'"progress":0.0') == 2
    refusal(data.replace(b'"progress":0.0', b'"progress":' + zero, 1))


@pytest.mark.parametrize("field", [b"home", b"ms"])
def test_zero_with_a_sign_is_refused(field: bytes) -> None:
    data = codec.encode(finished("corners", moves=0), "json")
    assert data.count(b'"%s":0' % field) == 2
    refusal(data.replace(b'"%s":0' % field, b'"%s":-0' % field, 1))


def test_progress_with_a_sign_fails_the_standings() -> None:
    data = codec.encode(finished("corners", moves=0), "json")
    assert failures(read(data.replace(b'"progress":0.0', b'"progress":-0.0', 1))) == {"standings": None}


@pytest.mark.parametrize("name", ["", "1", "Cap", "cap ", "é", "cap\n"])
def test_variants_with_other_names_than_options_have_are_refused(name: str) -> None:
    content = plain(race_of("corners"))
    content["header"]["variant"] = {name: True}
    refusal(codec.encode(content, "json"))


@pytest.mark.parametrize("digits", [15, 30, 3_000, 5_000])
def test_huge_numbers_are_refused(digits: int) -> None:
    data = codec.encode(race_of("corners"), "json").replace(b"[1,", b"[" + b"9" * digits + b",", 1)
    if digits == 15:
        assert failures(read(data))["numbers"] == 1
    else:
        refusal(data)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "more", [b"x", b"\x00", b"{}", b"\xc0", b"[" * 100_000], ids=["x", "zero", "object", "nil", "deep"]
)
def test_trailing_bytes_are_refused(form: codec.Form, more: bytes) -> None:
    refusal(codec.encode(race_of("corners"), form) + more)


@pytest.mark.parametrize("form", FORMS)
def test_a_truncated_file_is_refused(form: codec.Form) -> None:
    data = codec.encode(race_of("corners"), form)
    for length in range(0, len(data), 7):
        refusal(data[:length])


def test_messagepack_must_be_canonical() -> None:
    replay = race_of("corners")
    data = codec.encode(replay, "msgpack")
    assert read(data) == replay
    refusal(data.replace(b"\xa5place\x01", b"\xa5place\xcc\x01", 1))
    refusal(codec.encode(dict(reversed(plain(replay).items())), "msgpack"))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b" ",
        b"{",
        b"{}",
        b"[]",
        b"null",
        b"\x00",
        b"\xc1",
        b"\x80",
        b"\x91" * 100_000,
        b"{" * 100_000,
        b"\xff\xfe{",
    ],
    ids=lambda data: repr(data[:8]),
)
def test_arbitrary_bytes_are_refused(data: bytes) -> None:
    refusal(data)


def test_a_file_over_the_size_limit_is_refused() -> None:
    assert str(MAX_BYTES) in refusal(b"{" + b" " * MAX_BYTES)


# Changed bytes.

_bytes = {form: codec.encode(finished("kings-in-the-corners", moves=6), form) for form in FORMS}


def _survives(data: bytes, form: codec.Form) -> None:
    """Assert that damaged bytes are refused, fail a fact, or decode to the same replay."""
    try:
        replay = read(data)
    except Refused:
        refusal(data)
        return
    facts = verify(replay)
    assert replay == read(_bytes[form]) or not all(fact.holds for fact in facts)


@settings(max_examples=600, derandomize=True, database=None, deadline=None)
@given(st.integers(0, len(_bytes["json"]) - 1), st.integers(0, 255))
@example(0, ord("["))
def test_every_changed_byte_of_json_is_detected(position: int, byte: int) -> None:
    data = bytearray(_bytes["json"])
    data[position] = byte
    _survives(bytes(data), "json")


@settings(max_examples=600, derandomize=True, database=None, deadline=None)
@given(st.integers(0, len(_bytes["msgpack"]) - 1), st.integers(0, 255))
@example(0, ord("{"))
def test_every_changed_byte_of_messagepack_is_detected(position: int, byte: int) -> None:
    data = bytearray(_bytes["msgpack"])
    data[position] = byte
    _survives(bytes(data), "msgpack")


@settings(max_examples=300, derandomize=True, database=None, deadline=None)
@given(
    st.integers(0, len(_bytes["json"]) - 1), st.integers(0, 40), st.sampled_from([b"", b'"', b",", b"9", b"{}", b"\\"])
)
def test_every_replaced_range_of_json_is_detected(start: int, length: int, by: bytes) -> None:
    data = _bytes["json"]
    _survives(data[:start] + by + data[start + length :], "json")


@settings(max_examples=200, derandomize=True, database=None, deadline=None)
@given(st.binary(max_size=200))
def test_random_bytes_are_refused(data: bytes) -> None:
    refusal(data)

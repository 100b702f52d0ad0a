"""Log lines: each is one line whatever is in it, says what it is about, and as JSON can be read by a program."""

import json
import logging
import sys

import pytest

from samedeal_server.ops.logging_setup import JsonLines, TextLines, about, printable

FORGED = "eve\n2026-11-21 12:00:00,000 ERROR samedeal_server: the store is gone\r\x1b[2J\u2028\u202e\x9b"


def made(message: str, *words: object, error: Exception | None = None, **extra: object) -> logging.LogRecord:
    info = (type(error), error, error.__traceback__) if error else None
    found = logging.getLogger("samedeal_server.races.room").makeRecord(
        "samedeal_server.races.room", logging.ERROR, __file__, 1, message, words, info, extra=extra
    )
    found.created, found.msecs = 1_795_262_400.25, 250
    return found


def failure(text: str) -> Exception:
    try:
        raise ValueError(text)
    except ValueError:
        caught = sys.exc_info()[1]
        assert isinstance(caught, Exception)
        return caught


def test_a_line_of_text_says_what_it_is_about() -> None:
    told = about(race="calm-otter-42", seat=2, connection="0f1e")
    line = TextLines().format(made("entry %d: %s", 7, "joined", **told))
    assert line.endswith(" ERROR samedeal_server.races.room: entry 7: joined race=calm-otter-42 seat=2 connection=0f1e")
    assert TextLines(3).format(made("hello", **about(race="a-b-1"))).endswith("room: hello race=a-b-1 worker=3")
    assert TextLines().format(made("hello")).endswith("room: hello")


def test_a_line_of_json_has_what_it_is_about_in_its_own_fields() -> None:
    told = about(race="calm-otter-42", seat=2, connection="0f1e")
    line = json.loads(JsonLines(1).format(made("entry %d: %s", 7, "joined", **told)))
    assert line == {
        "time": "2026-11-21T12:00:00.250Z",
        "level": "error",
        "logger": "samedeal_server.races.room",
        "message": "entry 7: joined",
        "race": "calm-otter-42",
        "seat": 2,
        "connection": "0f1e",
        "worker": 1,
    }


def test_a_line_about_a_race_has_all_three_fields_and_another_has_none() -> None:
    line = json.loads(JsonLines().format(made("hello", **about(race="a-b-1"))))
    assert (line["race"], line["seat"], line["connection"]) == ("a-b-1", None, None)
    assert json.loads(JsonLines().format(made("hello"))).keys() == {"time", "level", "logger", "message"}


@pytest.mark.parametrize("lines", [TextLines(), JsonLines()])
def test_nothing_that_a_guest_says_makes_a_line_of_its_own(lines: logging.Formatter) -> None:
    for record in (made("%s says hello", FORGED), made(FORGED), made("hello", **about(connection=FORGED))):
        line = lines.format(record)
        assert len(line.splitlines()) == 1
        assert line.isprintable()
    if isinstance(lines, JsonLines):
        assert json.loads(lines.format(made("%s", FORGED)))["message"] == FORGED


def test_an_exception_is_below_its_line_and_no_line_of_it_looks_like_another() -> None:
    first, *below = TextLines().format(made("a session failed", error=failure(FORGED))).splitlines()
    assert first.endswith("a session failed")
    assert below[0] == "    Traceback (most recent call last):"
    assert all(line.startswith("    ") and line.isprintable() for line in below)
    line = JsonLines().format(made("a session failed", error=failure(FORGED)))
    assert len(line.splitlines()) == 1
    assert f"ValueError: {FORGED}" in json.loads(line)["exception"]


def test_what_can_be_seen_is_left_as_it_is() -> None:
    assert printable("Zoë ♠ 7♥ — ok") == "Zoë ♠ 7♥ — ok"
    assert printable("a\tb\\n\x7f") == "a\\tb\\n\\x7f"

"""Each log record is one line of text or JSON with its context."""

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


def test_text_line_ends_with_its_context() -> None:
    told = about(race="calm-otter-42", seat=2, connection="0f1e")
    line = TextLines().format(made("entry %d: %s", 7, "joined", **told))
    assert line.endswith(" ERROR samedeal_server.races.room: entry 7: joined race=calm-otter-42 seat=2 connection=0f1e")
    assert TextLines(3).format(made("hello", **about(race="a-b-1"))).endswith("room: hello race=a-b-1 worker=3")
    assert TextLines().format(made("hello")).endswith("room: hello")


def test_json_line_has_fields_for_its_context() -> None:
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


def test_json_line_has_all_context_fields_or_none() -> None:
    line = json.loads(JsonLines().format(made("hello", **about(race="a-b-1"))))
    assert (line["race"], line["seat"], line["connection"]) == ("a-b-1", None, None)
    assert json.loads(JsonLines().format(made("hello"))).keys() == {"time", "level", "logger", "message"}


@pytest.mark.parametrize("lines", [TextLines(), JsonLines()])
def test_guest_input_stays_on_one_line(lines: logging.Formatter) -> None:
    for record in (made("%s says hello", FORGED), made(FORGED), made("hello", **about(connection=FORGED))):
        line = lines.format(record)
        assert len(line.splitlines()) == 1
        assert line.isprintable()
    if isinstance(lines, JsonLines):
        assert json.loads(lines.format(made("%s", FORGED)))["message"] == FORGED


def test_exception_is_indented_below_its_line() -> None:
    first, *below = TextLines().format(made("a session failed", error=failure(FORGED))).splitlines()
    assert first.endswith("a session failed")
    assert below[0] == "    Traceback (most recent call last):"
    assert all(line.startswith("    ") and line.isprintable() for line in below)
    line = JsonLines().format(made("a session failed", error=failure(FORGED)))
    assert len(line.splitlines()) == 1
    assert f"ValueError: {FORGED}" in json.loads(line)["exception"]


def test_printable_text_is_unchanged() -> None:
    assert printable("Zoë ♠ 7♥ — ok") == "Zoë ♠ 7♥ — ok"
    assert printable("a\tb\\n\x7f") == "a\\tb\\n\\x7f"

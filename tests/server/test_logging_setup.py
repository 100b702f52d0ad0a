"""Each log record is one line of text or JSON with its context."""

import json
import logging
import sys

import pytest

from samedeal_server.net.logs import JsonLines, TextLines, about, printable

FORGED = "eve\n2026-11-21 12:00:00,000 ERROR samedeal_server: the store is gone\r\x1b[2J\u2028\u202e\x9b"


def make_record(message: str, *words: object, error: Exception | None = None, **extra: object) -> logging.LogRecord:
    info = (type(error), error, error.__traceback__) if error else None
    record = logging.getLogger("samedeal_server.live.room").makeRecord(
        "samedeal_server.live.room", logging.ERROR, __file__, 1, message, words, info, extra=extra
    )
    record.created, record.msecs = 1_795_262_400.25, 250
    return record


def failure(text: str) -> Exception:
    try:
        raise ValueError(text)
    except ValueError:
        caught = sys.exc_info()[1]
        assert isinstance(caught, Exception)
        return caught


def test_text_line_ends_with_its_context() -> None:
    context = about(race="calm-otter-42", seat=2, connection="0f1e")
    line = TextLines().format(make_record("entry %d: %s", 7, "joined", **context))
    assert line.endswith(" ERROR samedeal_server.live.room: entry 7: joined race=calm-otter-42 seat=2 connection=0f1e")
    assert TextLines(3).format(make_record("hello", **about(race="a-b-1"))).endswith("room: hello race=a-b-1 worker=3")
    assert TextLines().format(make_record("hello")).endswith("room: hello")


def test_json_line_has_fields_for_its_context() -> None:
    context = about(race="calm-otter-42", seat=2, connection="0f1e")
    line = json.loads(JsonLines(1).format(make_record("entry %d: %s", 7, "joined", **context)))
    assert line == {
        "time": "2026-11-21T12:00:00.250Z",
        "level": "error",
        "logger": "samedeal_server.live.room",
        "message": "entry 7: joined",
        "race": "calm-otter-42",
        "seat": 2,
        "connection": "0f1e",
        "worker": 1,
    }


def test_json_line_has_all_context_fields_or_none() -> None:
    line = json.loads(JsonLines().format(make_record("hello", **about(race="a-b-1"))))
    assert (line["race"], line["seat"], line["connection"]) == ("a-b-1", None, None)
    assert json.loads(JsonLines().format(make_record("hello"))).keys() == {"time", "level", "logger", "message"}


@pytest.mark.parametrize("lines", [TextLines(), JsonLines()])
def test_guest_input_stays_on_one_line(lines: logging.Formatter) -> None:
    about_forged = make_record("hello", **about(connection=FORGED))
    for record in (make_record("%s says hello", FORGED), make_record(FORGED), about_forged):
        line = lines.format(record)
        assert len(line.splitlines()) == 1
        assert line.isprintable()
    if isinstance(lines, JsonLines):
        assert json.loads(lines.format(make_record("%s", FORGED)))["message"] == FORGED


def test_exception_is_indented_below_its_line() -> None:
    first, *below = TextLines().format(make_record("a session failed", error=failure(FORGED))).splitlines()
    assert first.endswith("a session failed")
    assert below[0] == "    Traceback (most recent call last):"
    assert all(line.startswith("    ") and line.isprintable() for line in below)
    line = JsonLines().format(make_record("a session failed", error=failure(FORGED)))
    assert len(line.splitlines()) == 1
    assert f"ValueError: {FORGED}" in json.loads(line)["exception"]


def test_printable_text_is_unchanged() -> None:
    assert printable("Zoë ♠ 7♥ — ok") == "Zoë ♠ 7♥ — ok"
    assert printable("a\tb\\n\x7f") == "a\\tb\\n\\x7f"

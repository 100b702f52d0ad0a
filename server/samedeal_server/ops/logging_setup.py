"""Log lines: how what the server says of itself is written, for people or as JSON, and what each line is about."""

import json
import logging
import sys
import time
from typing import Any, Final, Literal

ABOUT: Final = ("race", "seat", "connection")
"""What a line may be about; one that is about a race says all three, with none where it has none."""


def about(*, race: str | None = None, seat: int | None = None, connection: str | None = None) -> dict[str, Any]:
    """What a line is about, as `extra` of a call that logs. A connection's name is the server's, and no secret."""
    return {"race": race, "seat": seat, "connection": connection}


def begin(level: str, form: Literal["text", "json"], worker: int | None = None) -> None:
    """Has everything from a level on logged to standard error, with the number of this worker if there are several."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines(worker) if form == "json" else TextLines(worker))
    logging.basicConfig(level=level.upper(), handlers=[handler])


class JsonLines(logging.Formatter):
    """Each record as one line of JSON, in ASCII: whatever is in it, it is one line and moves no cursor."""

    def __init__(self, worker: int | None = None) -> None:
        super().__init__()
        self._worker = worker

    def format(self, record: logging.LogRecord) -> str:
        seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, object] = {
            "time": f"{seconds}.{int(record.msecs):03}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_about(record),
        }
        if self._worker is not None:
            line["worker"] = self._worker
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line)


class TextLines(logging.Formatter):
    """Each record as one line for people, and an exception below it, indented: nothing can pass for another line."""

    def __init__(self, worker: int | None = None) -> None:
        super().__init__()
        self._worker = worker

    def format(self, record: logging.LogRecord) -> str:
        known = {name: value for name, value in _about(record).items() if value is not None}
        if self._worker is not None:
            known["worker"] = self._worker
        ends = "".join(f" {name}={value}" for name, value in known.items())
        begins = f"{self.formatTime(record)} {record.levelname} {record.name}: "
        line = begins + printable(record.getMessage()) + printable(ends)
        if record.exc_info:
            line += "".join(f"\n    {printable(below)}" for below in self.formatException(record.exc_info).split("\n"))
        return line


def printable(text: str) -> str:
    """The text with everything escaped that would not be seen as itself: line ends, what terminals obey, directions."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in text
    )


def _about(record: logging.LogRecord) -> dict[str, object]:
    return {name: getattr(record, name) for name in ABOUT} if hasattr(record, ABOUT[0]) else {}

"""Logs: records as text or JSON, with the race, connection or request that they concern, and repeats left out."""

import atexit
import json
import logging
import sys
import threading
import time
from collections import Counter
from typing import Any, Final, Literal

PER_MINUTE: Final = 100
"""How many records of one kind are logged in a minute; 0 for all."""
MAX_KINDS: Final = 1_000
"""How many kinds of records are counted separately."""
ACCESS_LOG: Final = "samedeal_server.access_log"
"""The name of the logger of the access log."""
_Kind = tuple[str, int, str]


class RepeatFilter(logging.Filter):
    """Passes a number of records of each kind in a minute, and then one with the count of the others.

    Records with the same logger, level and text before formatting are of one kind. Debug records and the access log
    always pass, because they are of no use with gaps.
    """

    def __init__(self, limit: int, window_s: float = 60.0) -> None:
        """`limit` is the number of records; 0 for unlimited."""
        super().__init__()
        self._limit, self._window_s = limit, window_s
        self._lock = threading.Lock()
        self._end_s = 0.0
        self._counts = Counter[_Kind]()
        self._last = dict[_Kind, logging.LogRecord]()  # of the kinds that exceed the limit

    def filter(self, record: logging.LogRecord) -> bool:
        if not self._limit or record.levelno <= logging.DEBUG or record.name == ACCESS_LOG:
            return True
        with self._lock:
            now_s = time.monotonic()
            if now_s >= self._end_s and not self._last:
                self._counts.clear()
                self._end_s = now_s + self._window_s
            kind = record.name, record.levelno, str(record.msg)
            if kind not in self._counts and len(self._counts) >= MAX_KINDS:
                kind = "", 0, ""
            self._counts[kind] += 1
            if self._counts[kind] <= self._limit:
                return True
            if not self._last:
                timer = threading.Timer(max(0.0, self._end_s - now_s), self.summarise)
                timer.daemon = True
                timer.start()
            self._last[kind] = record
            return False

    def summarise(self) -> None:
        """Log how many records of each kind were left out, and start to count again."""
        with self._lock:
            left_out = [(self._counts[kind] - self._limit, record) for kind, record in self._last.items()]
            self._last.clear()
            self._end_s = 0.0
        for count, record in left_out:
            text = "… %d more like this within %g s: %s"
            logging.getLogger(record.name).log(record.levelno, text, count, self._window_s, record.getMessage())


ABOUT: Final = ("race", "seat", "connection")
"""The context of a record. Records of a race have all three fields, some of them None."""
REQUEST_FIELDS: Final = ("request", "client", "method", "path", "status", "duration_ms")
"""The context of a record about a request: its id, the client's address and, in the access log, how it was served."""


def about(*, race: str | None = None, seat: int | None = None, connection: str | None = None) -> dict[str, Any]:
    """Return the context of a record, for the `extra` argument of logging calls. Connection names are not secret."""
    return {"race": race, "seat": seat, "connection": connection}


def about_request(request: str | None, client: str | None) -> dict[str, Any]:
    """Return the context of a record about a request or a client, given the id and the client's address or network."""
    return {"request": request or None, "client": client or None}


def configure(level: str, form: Literal["text", "json"], worker: int | None = None) -> None:
    """Log records from a level to stderr, with the number of this worker if there are several."""
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(repeats := RepeatFilter(PER_MINUTE))
    atexit.register(repeats.summarise)
    handler.setFormatter(JsonLines(worker) if form == "json" else TextLines(worker))
    logging.basicConfig(level=level.upper(), handlers=[handler])


class _Formatter(logging.Formatter):
    def __init__(self, worker: int | None = None) -> None:
        super().__init__()
        self._worker = worker

    def _context(self, record: logging.LogRecord) -> dict[str, object]:
        context = {name: getattr(record, name) for name in (*ABOUT, *REQUEST_FIELDS) if hasattr(record, name)}
        return context if self._worker is None else context | {"worker": self._worker}


class JsonLines(_Formatter):
    """Formats each record as one line of JSON in ASCII, without control characters."""

    def format(self, record: logging.LogRecord) -> str:
        seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, object] = {
            "time": f"{seconds}.{int(record.msecs):03}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **self._context(record),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line)


class TextLines(_Formatter):
    """Formats each record as one line of text, with exceptions indented below, so that no text can forge a record."""

    def format(self, record: logging.LogRecord) -> str:
        suffix = "".join(f" {name}={value}" for name, value in self._context(record).items() if value is not None)
        prefix = f"{self.formatTime(record)} {record.levelname} {record.name}: "
        line = prefix + printable(record.getMessage()) + printable(suffix)
        if record.exc_info:
            line += "".join(f"\n    {printable(text)}" for text in self.formatException(record.exc_info).split("\n"))
        return line


def printable(text: str) -> str:
    """Escape control characters, line breaks, and format characters such as text direction."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in text
    )

"""Repeats: bounds how many log records of one kind are written, so that clients cannot fill the disk."""

import logging
import threading
import time
from collections import Counter
from typing import Final

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

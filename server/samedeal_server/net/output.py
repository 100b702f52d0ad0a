"""Output: stdout and stderr, written by threads, so that a slow reader never blocks the server."""

import atexit
import io
import logging
import os
import select
import sys
from queue import SimpleQueue
from stat import S_ISREG
from threading import Thread
from typing import Final, TextIO, cast

from samedeal_server.net import metrics

logger = logging.getLogger(__name__)

MAX_TEXTS: Final = 5_000
"""How many texts, such as log records, wait to be written. Further ones are dropped."""
EXIT_S: Final = 1.0
"""How long the process waits at exit for each stream to be written."""


def write_in_threads() -> None:
    """Replace ``sys.stdout`` and ``sys.stderr``, unless they are files on disk, which need no reader."""
    sys.stdout, sys.stderr = (
        stream if S_ISREG(os.fstat(stream.fileno()).st_mode) else cast("TextIO", QueuedStream(stream))
        for stream in (sys.stdout, sys.stderr)
    )


class QueuedStream(io.TextIOBase):
    """A text stream whose writes return at once. A thread writes the texts to the file of another stream.

    Errors of the file, such as a broken pipe, are ignored.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._file = stream, stream.fileno()
        # A SimpleQueue, because objects that are finalised during a write may log something.
        self._texts = SimpleQueue[bytes | None]()
        self._dropped = 0
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()
        atexit.register(self.finish)

    @property  # typeshed declares an attribute, but that of io.TextIOBase cannot be set
    def encoding(self) -> str:  # type: ignore[override]
        return self._stream.encoding

    def fileno(self) -> int:
        return self._file

    def isatty(self) -> bool:
        return self._stream.isatty()

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        """Queue a text. If too many wait already, count it as dropped."""
        if self._texts.qsize() < MAX_TEXTS:
            self._texts.put(text.encode(self.encoding, "backslashreplace"))
        else:
            self._dropped += 1
            metrics.DROPPED_OUTPUT.inc()
        return len(text)

    def finish(self) -> None:
        """Wait until everything is written, but not longer than EXIT_S. Later texts are lost."""
        self._texts.put(None)
        self._thread.join(EXIT_S)

    def _run(self) -> None:
        """Write the texts, and log how many were dropped once all others are written."""
        while (text := self._texts.get()) is not None:
            self._write(text)
            if self._dropped and self._texts.empty():
                count, self._dropped = self._dropped, 0
                logger.warning("dropped %d lines of output that nothing read in time", count)

    def _write(self, data: bytes) -> None:
        # Not through the stream: a blocked thread would hold its lock, and the process could not exit.
        while data:
            try:
                data = data[os.write(self._file, data) :]
            except BlockingIOError:
                select.select([], [self._file], [])
            except OSError:
                return

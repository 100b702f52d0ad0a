"""A reader of the server's output never blocks it."""

import logging
import os
import threading
from concurrent.futures import ThreadPoolExecutor

from samedeal_server.net.output import MAX_TEXTS, QueuedStream
from support.waiting import LIMIT_S

LINE = f"{'x' * 99}\n"
LINES = MAX_TEXTS + 10_000  # a pipe holds 64 KiB


class Reports(logging.Handler):
    """Adds up how many lines were reported as dropped."""

    def __init__(self) -> None:
        super().__init__()
        self.dropped = 0
        self.arrived = threading.Event()

    def emit(self, record: logging.LogRecord) -> None:
        assert isinstance(record.args, tuple)
        self.dropped += int(str(record.args[0]))
        self.arrived.set()


def test_lines_that_nobody_reads_are_dropped_and_counted() -> None:
    reports, logger = Reports(), logging.getLogger("samedeal_server.net.output")
    logger.addHandler(reports)
    reading, writing = os.pipe()
    try:
        with os.fdopen(reading) as reader, ThreadPoolExecutor() as threads:
            with os.fdopen(writing, "w") as file:
                stream = QueuedStream(file)
                for _ in range(LINES):
                    stream.write(LINE)
                assert not reports.arrived.is_set()
                lines = threads.submit(reader.readlines)
                assert reports.arrived.wait(LIMIT_S)
                stream.finish()
            assert set(lines.result()) == {LINE}
            assert len(lines.result()) + reports.dropped == LINES
    finally:
        logger.removeHandler(reports)

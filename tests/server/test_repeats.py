"""Log records of one kind are limited in a minute, and those left out are counted."""

import logging
import threading
from collections.abc import Iterator

import pytest

from samedeal_server.net.logs import ACCESS_LOG, MAX_KINDS, RepeatFilter


class Log(logging.Handler):
    """Keeps the messages that pass a filter."""

    def __init__(self, limit: int, window_s: float = 3600.0) -> None:
        super().__init__()
        self.messages: list[str] = []
        self.summarised = threading.Event()
        self.repeats = RepeatFilter(limit, window_s)
        self.addFilter(self.repeats)

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())
        if record.msg.startswith("…"):
            self.summarised.set()


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    logger = logging.getLogger("test.repeats")
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    yield logger
    for handler in tuple(logger.handlers):
        logger.removeHandler(handler)


def test_records_beyond_the_limit_are_counted(logger: logging.Logger) -> None:
    logger.addHandler(log := Log(3))
    for number in range(10):
        logger.info("refused %d", number)
    logger.info("another kind")
    logger.warning("refused %d", 10)
    assert log.messages == ["refused 0", "refused 1", "refused 2", "another kind", "refused 10"]
    log.repeats.summarise()
    assert log.messages[5:] == ["… 7 more like this within 3600 s: refused 9"]
    log.repeats.summarise()
    logger.info("refused %d", 11)  # counted from the start
    assert log.messages[6:] == ["refused 11"]


def test_summary_follows_without_further_records(logger: logging.Logger) -> None:
    logger.addHandler(log := Log(1, 0.01))
    while not log.repeats._last:  # the window may end in between
        logger.error("failed")
    assert log.summarised.wait(50)


def test_kinds_are_limited_too(logger: logging.Logger) -> None:
    logger.addHandler(log := Log(2))
    for number in range(MAX_KINDS + 10):
        logger.error(f"text {number}")
    assert len(log.messages) == MAX_KINDS + 2
    log.repeats.summarise()
    assert log.messages[-1] == f"… 8 more like this within 3600 s: text {MAX_KINDS + 9}"


def test_debug_records_and_the_access_log_are_not_limited(logger: logging.Logger) -> None:
    log = Log(1)
    for name, level in (("any", logging.DEBUG), (ACCESS_LOG, logging.INFO)):
        record = logging.LogRecord(name, level, __file__, 1, "text", None, None)
        assert [log.repeats.filter(record) for _ in range(3)] == [True] * 3


def test_zero_is_unlimited(logger: logging.Logger) -> None:
    logger.addHandler(log := Log(0))
    for _ in range(1000):
        logger.error("failed")
    assert len(log.messages) == 1000

"""Shared fixtures: a real store for each worker, emptied for each test that uses it.

On CI, where the environment variable CI is set, a skipped test fails unless its reason starts with PLATFORM. Otherwise,
a missing program could silently disable many tests.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TypeVar

import pytest
from redis import Redis

from support import autobahn
from support.quick import is_quick

PLATFORM = "platform: "
"""Starts the reason of a skip that no installation can avoid."""
collect_ignore = [] if autobahn.installed() else ["system/test_autobahn.py"]
"""The Autobahn suite needs Python 2.7. `make conformance` installs and runs it."""
signal.signal(signal.SIGINT, signal.default_int_handler)
"""Shells make background jobs ignore SIGINT, which programs started by the tests would inherit."""
if sys.platform != "win32":
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the same for nohup
os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])])
"""Lets tests run ``python -m support.…``."""
FOLDERS = ["web", "system", "faults", "project", "cli", "server", "protocol"]
"""In the order in which tests run. The last ones are short, so that all workers end at about the same time."""
Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="only run tests that start no process")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    slow = config.getoption("--quick") and collection_path.match("test_*.py") and not is_quick(collection_path)
    return True if slow else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = {folder: place for place, folder in enumerate(FOLDERS)}
    items.sort(key=lambda item: places.get(item.path.parent.name, 0))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return _without_skip((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    return _without_skip((yield))


def _without_skip(report: Report) -> Report:
    """Turn a skip that CI does not accept into a failure."""
    if os.environ.get("CI", "").lower() in ("", "0", "false") or not report.skipped or hasattr(report, "wasxfail"):
        return report
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    if not reason.removeprefix("Skipped: ").startswith(PLATFORM):
        report.outcome = "failed"
        report.longrepr = f"Skipping is a failure on CI, unless the reason starts with {PLATFORM!r}. {reason}"
    return report


@pytest.fixture(scope="session", autouse=True)
def _own_configuration(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Hide the developer's own configuration from the tests and the programs that they start."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        yield


@pytest.fixture(scope="session")
def store_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A running store. It stops when its input is closed, even if the tests are killed."""
    yield from kept_store(tmp_path_factory.mktemp("store"))


@pytest.fixture
def redis_url(store_url: str) -> str:
    """The emptied store."""
    with Redis.from_url(store_url) as redis:
        redis.flushall()
        redis.function_flush()
        redis.script_flush()
    return store_url


def kept_store(data_dir: Path) -> Iterator[str]:
    """Run a store in a separate process, and yield its address."""
    command = [sys.executable, "-m", "samedeal_server.store.embedded", str(data_dir)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as keeper:
        assert keeper.stdin
        assert keeper.stdout
        yield keeper.stdout.readline().strip()
        keeper.stdin.close()
        assert keeper.wait(240) == 0

"""Shared fixtures, the three tiers of tests, and what their summary reports.

A test belongs to tier 1 unless it, its class or its module is marked with another one: `pytest.mark.tier(2)`. The mark
closest to the test counts. `--tier 1` runs the tests of one tier only.

On CI, where the environment variable CI is set, a skipped test fails unless its reason starts with PLATFORM. Otherwise,
a missing program could silently disable many tests.
"""

import ast
import os
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TypeVar

import hypothesis
import pytest
from redis import Redis

PLATFORM = "platform: "
"""Starts the reason of a skip that no installation can avoid."""
hypothesis.settings.register_profile("any speed", deadline=None)
hypothesis.settings.load_profile("any speed")
signal.signal(signal.SIGINT, signal.default_int_handler)
"""Shells make background jobs ignore SIGINT, which programs started by the tests would inherit."""
if sys.platform != "win32":
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the same for nohup
os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])])
"""Lets tests run ``python -m support.…``."""
FOLDERS = ["web", "system", "faults", "project", "cli", "server", "protocol"]
"""In the order in which tests run. The last ones are short, so that all workers end at about the same time."""
MAX_CPU_S = 5.0
"""CPU time that a test of tier 1 may take (s), if it is not in EXPENSIVE."""
EXPENSIVE = {
    "tests/protocol/test_altered_replays.py::test_every_entry_is_protected",  # the first one makes all replays
}
"""Tests of tier 1 that are worth more than MAX_CPU_S."""
Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)


cpu_began_s = pytest.StashKey[float]()
cpu_of_tests_s: dict[str, float] = {}
"""The CPU time of each finished test, with its fixtures and the programs it has waited for (s)."""
time_of_files_s = defaultdict[str, float](float)
"""How long the tests of each file took together, with their fixtures and all waiting (s)."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--tier", type=int, choices=[1, 2, 3], help="only run the tests of this tier")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "tier(number): the tier of tests, 1 to 3; 1 without this mark")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files without a test of the tier, so that tier 1 does not import what only other tiers need."""
    tier = config.getoption("--tier")
    return True if tier and collection_path.match("test_*.py") and tier not in tiers_in(collection_path) else None


def tiers_in(file: Path) -> set[int]:
    """Return the tiers that tests of a file may have, by its marks."""
    body = ast.parse(file.read_bytes()).body
    marks = {statement: [*_tiers_in(statement)] for statement in body}
    of_module = any(tiers and isinstance(statement, ast.Assign) for statement, tiers in marks.items())
    return {tier for tiers in marks.values() for tier in tiers} | (set() if of_module else {1})


def _tiers_in(statement: ast.stmt) -> Iterator[int]:
    for node in ast.walk(statement):
        match node:
            case ast.Call(func=ast.Attribute(attr="tier"), args=[ast.Constant(value=int(tier))]):
                yield tier


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    tier = config.getoption("--tier")
    deselected = [item for item in items if tier and tier_of(item) != tier]
    if deselected:
        config.hook.pytest_deselected(items=deselected)
        items[:] = [item for item in items if tier_of(item) == tier]
    places = {folder: place for place, folder in enumerate(FOLDERS)}
    items.sort(key=lambda item: places.get(item.path.parent.name, 0))


def tier_of(item: pytest.Item) -> int:
    """Return the tier of a test: 1 to 3."""
    mark = item.get_closest_marker("tier")
    return int(mark.args[0]) if mark else 1


def cpu_s() -> float:
    """Return the CPU time of this process and of the children it has waited for (s)."""
    return sum(os.times()[:4])


def pytest_runtest_setup(item: pytest.Item) -> None:
    item.stash[cpu_began_s] = cpu_s()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.when == "teardown" and cpu_began_s in item.stash:
        report.user_properties.append(("cpu_s", cpu_s() - item.stash[cpu_began_s]))
    return _without_skip(report)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    time_of_files_s[report.location[0]] += report.duration
    for name, value in report.user_properties:
        if name == "cpu_s" and isinstance(value, float):
            cpu_of_tests_s[report.nodeid] = value


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Name what a missing program has left out and, on CI, the slowest: tests of tier 1, files of other tiers."""
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ")
        for report in terminalreporter.stats.get("skipped", [])
        if isinstance(report.longrepr, tuple)
    )
    left_out = [f"{reason} ({count})" for reason, count in reasons.items() if not reason.startswith(PLATFORM)]
    if left_out:
        terminalreporter.write_line(f"Tests left out: {'; '.join(left_out)}", yellow=True)
    tier = config.getoption("--tier")
    if on_ci() and tier in (2, 3):
        for name, seconds in sorted(time_of_files_s.items(), key=lambda file: -file[1])[:15]:
            terminalreporter.write_line(f"{seconds:6.1f} s of all workers: {name}")
    if on_ci() and tier == 1:
        slowest = sorted(cpu_of_tests_s.items(), key=lambda test: -test[1])
        for name, seconds in slowest[:10]:
            terminalreporter.write_line(f"{seconds:6.1f} s of CPU time: {name}")
        for name, seconds in slowest:
            if seconds > MAX_CPU_S and name.partition("[")[0] not in EXPENSIVE:
                terminalreporter.write_line(f"WARNING: {name} takes {seconds:.1f} s: too much for tier 1", red=True)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    return _without_skip((yield))


def _without_skip(report: Report) -> Report:
    """Turn a skip that CI does not accept into a failure."""
    if not on_ci() or not report.skipped or hasattr(report, "wasxfail"):
        return report
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    if not reason.removeprefix("Skipped: ").startswith(PLATFORM):
        report.outcome = "failed"
        report.longrepr = f"Skipping is a failure on CI, unless the reason starts with {PLATFORM!r}. {reason}"
    return report


def on_ci() -> bool:
    """Return whether the tests run on CI."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false")


@pytest.fixture(scope="session", autouse=True)
def _own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Hide the developer's own configuration and data from the tests and the programs that they start."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        yield


@pytest.fixture(scope="session")
def store_of_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A running store. It stops when its input is closed, even if the tests are killed."""
    yield from kept_store(tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
def store_url(store_of_session: str) -> str:
    """A store that is empty when the tests of a module begin."""
    return emptied(store_of_session)


@pytest.fixture
def redis_url(store_url: str) -> str:
    """A store that is empty when a test begins."""
    return emptied(store_url)


def emptied(url: str) -> str:
    """Delete everything in a store, and return its address."""
    with Redis.from_url(url) as redis:
        redis.flushall()
        redis.function_flush()
        redis.script_flush()
    return url


def kept_store(data_dir: Path) -> Iterator[str]:
    """Run a store in a separate process, and yield its address."""
    command = [sys.executable, "-m", "samedeal_server.store.embedded", str(data_dir)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as keeper:
        assert keeper.stdin
        assert keeper.stdout
        yield keeper.stdout.readline().strip()
        keeper.stdin.close()
        assert keeper.wait(50) == 0

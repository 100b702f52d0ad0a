"""Removes one safeguard at a time in a copy of the source tree, and checks that its tests then fail.

Run ``make weakened``, or ``make weakened ARGS=fence`` for one of them. Each test must first pass on an unmodified copy.
Exits with 1 if no test notices that a safeguard is missing.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PARTS = ("protocol", "server", "clients", "tests")
SERVER = "server/samedeal_server/"


class Safeguard(NamedTuple):
    """A safeguard, how to remove it, and the tests that must notice."""

    file: str
    original: str
    """The code of the safeguard. Occurs once in the file."""
    replacement: str
    tests: tuple[str, ...]


SAFEGUARDS = {
    "predecessor": Safeguard(
        SERVER + "store/append.lua",
        "if head[2] ~= (done == 0 and before or of(done - 1, 2)) then",
        "if false then",
        (
            "server/test_race_log.py::test_a_wrong_predecessor_is_behind",
            "server/test_race_log.py::test_two_writers_cannot_both_write_the_next_entry",
            "server/test_room.py::test_two_rooms_of_one_race_grant_every_wish_once",
        ),
    ),
    "repeat": Safeguard(
        SERVER + "store/append.lua",
        "elseif n > first + count - 1 then",
        "elseif n >= first then\n    status = 'behind'\n  elseif n > first + count - 1 then",
        (
            "server/test_race_log.py::test_appending_again_changes_nothing",
            "server/test_race_log.py::test_nothing_is_written_twice_when_a_reply_is_lost",
        ),
    ),
    "fence": Safeguard(
        SERVER + "ws/session.py",
        "return seat is not None and seat.taken == self._taken",
        "return seat is not None",
        (
            "system/test_two_servers.py::test_the_older_connection_is_fenced_off_on_the_other_server",
            "system/test_two_servers.py::test_of_those_who_take_a_seat_at_once_one_has_it",
        ),
    ),
    "flush": Safeguard(
        SERVER + "store/embedded.py",
        '"--appendfsync", "always"',
        '"--appendfsync", "everysec"',
        ("system/test_slow_disk.py::test_what_was_acknowledged_while_the_disk_is_slow_outlives_a_kill",),
    ),
    "tail": Safeguard(
        SERVER + "races/room.py",
        "        if lost := self._entries[n:]:\n            await self._log.append(self.race.id, before, lost)\n",
        "",
        (
            "server/test_room.py::test_a_lost_tail_is_written_again_from_memory",
            "system/test_outage.py::test_a_tail_that_the_store_lost_is_written_again",
        ),
    ),
    "order": Safeguard(
        SERVER + "races/room.py",
        "await self._log.append(self.race.id, self.race.digest, made)",
        "asyncio.ensure_future(self._log.append(self.race.id, self.race.digest, made))",
        ("server/test_room.py::test_nobody_hears_of_anything_before_the_log_has_it",),
    ),
    "doubt": Safeguard(
        SERVER + "races/room.py",
        "                if self._needs_resync:\n                    await self._reconcile()\n",
        "",
        (
            "server/test_room.py::test_after_a_failure_the_room_believes_the_log",
            "server/test_room.py::test_a_lost_tail_is_written_again_from_memory",
        ),
    ),
}
"""By name."""


def copy_tree(folder: Path, safeguard: Safeguard | None) -> Path:
    """Copy the source tree and remove a safeguard, if given. Raises ValueError if it is not found."""
    for part in PARTS:
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    if safeguard:
        file = folder / safeguard.file
        text = file.read_text()
        if text.count(safeguard.original) != 1:
            raise ValueError(f"{safeguard.file} has {text.count(safeguard.original)} times: {safeguard.original}")
        file.write_text(text.replace(safeguard.original, safeguard.replacement))
    return folder


def run_tests(tests: Sequence[str], safeguard: Safeguard | None = None) -> dict[str, bool]:
    """Return which tests pass on a copy of the tree."""
    with tempfile.TemporaryDirectory(prefix="weak-") as folder:  # with a short name, because of socket paths
        tree = copy_tree(Path(folder) / "t", safeguard)
        paths = [str(tree / part) for part in ("protocol", "server", "clients/cli", "tests")]
        env = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "TMPDIR": folder}
        check = f"import samedeal_server as s; assert s.__file__.startswith({str(tree)!r}), s.__file__"
        subprocess.run([sys.executable, "-c", check], env=env, cwd=tree, check=True)
        passed = {}
        for test in tests:
            command = [
                sys.executable,
                "-m",
                "pytest",
                "-q",
                "-p",
                "no:cacheprovider",
                "--timeout",
                "60",
                f"tests/{test}",
            ]
            result = subprocess.run(command, env=env, cwd=tree, capture_output=True, text=True)
            if result.returncode not in {0, 1} and "Timeout" not in result.stdout + result.stderr:
                raise RuntimeError(f"{test} could not run:\n{result.stdout}{result.stderr}")
            passed[test] = result.returncode == 0
    return passed


def main() -> int:
    parser = argparse.ArgumentParser(description="Remove one safeguard at a time and check that tests notice.")
    parser.add_argument("safeguards", nargs="*", metavar="NAME", help=f"some of {', '.join(SAFEGUARDS)}; default: all")
    chosen = parser.parse_args().safeguards or list(SAFEGUARDS)
    tests = sorted({test for name in chosen for test in SAFEGUARDS[name].tests})
    baseline = run_tests(tests)
    for test in (test for test in tests if not baseline[test]):
        print(f"fails on an unmodified copy: {test}")
    unnoticed = 0
    for name in chosen:
        for test, passed in run_tests(SAFEGUARDS[name].tests, SAFEGUARDS[name]).items():
            unnoticed += passed
            print(f"{name:<12} {'UNNOTICED' if passed else 'noticed':<10} {test}", flush=True)
    return int(unnoticed > 0 or not all(baseline.values()))


if __name__ == "__main__":
    sys.exit(main())

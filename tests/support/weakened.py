"""Removes one defence at a time, in a copy of the tree, and requires the tests listed for it to fail.

Run ``make weakened``, or ``make weakened ARGS=fence`` for one defence. Each test must first pass on an unchanged copy.
Exits with 1 if the removal of a defence goes unnoticed.
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
PARTS = ("protocol", "server", "clients", "examples", "tests")
SERVER = "server/samedeal_server/"


class Defence(NamedTuple):
    """Code that a guarantee depends on, how to remove it, and the tests that must notice."""

    file: str
    there: str
    """The code of the defence, which occurs once in the file."""
    instead: str
    tests: tuple[str, ...]


DEFENCES = {
    "predecessor": Defence(
        SERVER + "store/append.lua",
        "written = head[2] == (done == 0 and before or of(done - 1, 2))",
        "written = true",
        (
            "server/test_race_log.py::test_a_wrong_predecessor_is_behind",
            "server/test_race_log.py::test_two_writers_cannot_both_write_the_next_entry",
            "server/test_room.py::test_two_rooms_of_one_race_apply_every_command_once",
        ),
    ),
    "repeat": Defence(
        SERVER + "store/append.lua",
        "if n and n > first + count - 1 then",
        "if n and n >= first then\n    written = false\n  elseif n and n > first + count - 1 then",
        (
            "server/test_race_log.py::test_appending_again_changes_nothing",
            "server/test_race_log.py::test_nothing_is_written_twice_when_a_reply_is_lost",
        ),
    ),
    "fence": Defence(
        SERVER + "socket/participant.py",
        "return seat is not None and seat.taken == self._taken",
        "return seat is not None",
        (
            "system/test_two_servers.py::test_older_connection_is_fenced_off_on_the_other_server",
            "system/test_two_servers.py::test_one_of_several_simultaneous_connections_gets_the_seat",
        ),
    ),
    "flush": Defence(
        SERVER + "store/embedded.py",
        '"--appendfsync", "always"',
        '"--appendfsync", "everysec"',
        ("system/test_slow_disk.py::test_writes_acknowledged_on_a_slow_disk_survive_a_kill",),
    ),
    "tail": Defence(
        SERVER + "live/recovery.py",
        "        await store.log.append(race.id, last_digest, lost)\n",
        "",
        (
            "server/test_room_recovery.py::test_a_lost_tail_is_written_again_from_memory",
            "system/test_outage.py::test_log_tail_lost_by_the_store_is_written_again",
        ),
    ),
    "order": Defence(
        SERVER + "live/room.py",
        "        self._step_after(written(self.race.id, self.race.digest, entries), publish)\n",
        "        asyncio.ensure_future(written(self.race.id, self.race.digest, entries))\n        publish()\n",
        ("server/test_room.py::test_listeners_get_entries_only_after_they_are_in_the_log",),
    ),
    "doubt": Defence(
        SERVER + "live/room.py",
        "        if self._needs_resync:\n            await self._resync()\n",
        "",
        (
            "server/test_room_recovery.py::test_after_a_failure_the_room_reads_the_log",
            "server/test_room_recovery.py::test_a_lost_tail_is_written_again_from_memory",
        ),
    ),
}
"""By name."""


def copied(folder: Path, defence: Defence | None) -> Path:
    """Copy the tree, without the given defence. Raises ValueError if the defence is not found."""
    for part in PARTS:
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    if defence:
        file = folder / defence.file
        text = file.read_text()
        if text.count(defence.there) != 1:
            raise ValueError(f"{defence.file} has {text.count(defence.there)} times: {defence.there}")
        file.write_text(text.replace(defence.there, defence.instead))
    return folder


def checked(tests: Sequence[str], defence: Defence | None = None) -> dict[str, bool]:
    """Return which tests pass on a copy of the tree."""
    with tempfile.TemporaryDirectory(prefix="weak-") as folder:  # a short name, because socket paths are limited
        tree = copied(Path(folder) / "t", defence)
        paths = [str(tree / part) for part in ("protocol", "server", "clients/cli", "tests")]
        env = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "TMPDIR": folder}
        check = f"import samedeal_server as s; assert s.__file__.startswith({str(tree)!r}), s.__file__"
        subprocess.run([sys.executable, "-c", check], env=env, cwd=tree, check=True)
        passed = {}
        for test in tests:
            # asyncio would swallow what a signal raises in a task that never ends.
            options = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout=60", "--timeout-method=thread"]
            command = [sys.executable, *options, f"tests/{test}"]
            result = subprocess.run(command, env=env, cwd=tree, capture_output=True, text=True)
            if result.returncode not in {0, 1} and "Timeout" not in result.stdout + result.stderr:
                raise RuntimeError(f"{test} could not be run:\n{result.stdout}{result.stderr}")
            passed[test] = result.returncode == 0
    return passed


def main() -> int:
    parser = argparse.ArgumentParser(description="Take out one defence after another; the tests have to notice each.")
    parser.add_argument(
        "defences", nargs="*", metavar="NAME", help=f"some of {', '.join(DEFENCES)}; all if none is named"
    )
    chosen = parser.parse_args().defences or list(DEFENCES)
    tests = sorted({test for name in chosen for test in DEFENCES[name].tests})
    sound = checked(tests)
    for test in (test for test in tests if not sound[test]):
        print(f"fails with everything in place: {test}")
    unnoticed = 0
    for name in chosen:
        for test, passed in checked(DEFENCES[name].tests, DEFENCES[name]).items():
            unnoticed += passed
            print(f"{name:<12} {'UNNOTICED' if passed else 'red':<10} {test}", flush=True)
    return int(unnoticed > 0 or not all(sound.values()))


if __name__ == "__main__":
    sys.exit(main())

"""A short torture, and what it is worth: it finds the faults that are planted, and leaves nothing behind."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from campaign import seeded
from misfortunes import MISFORTUNES
from torture import planned

TORTURE = Path(__file__).with_name("torture.py")


def tortured(*words: str) -> subprocess.CompletedProcess[str]:
    """What came of a torture, which left nothing behind."""
    with tempfile.TemporaryDirectory() as folder:  # with a short name: there will be sockets in it
        env = os.environ | {"TMPDIR": folder}
        told = subprocess.run([sys.executable, TORTURE, *words], env=env, capture_output=True, text=True, timeout=115)
        assert os.listdir(folder) == []
    return told


def test_whatever_befalls_two_servers_and_a_store_no_move_is_lost() -> None:
    told = tortured("--run", f"{seeded().randrange(10**6)}.0", "--steps", "5")
    assert told.returncode == 0, told.stdout + told.stderr
    assert "0 runs violated" in told.stdout


def test_a_replica_that_is_promoted_without_the_tail_is_given_it_again() -> None:
    told = tortured("--run", f"{seeded().randrange(10**6)}.4", "--steps", "2")
    assert told.returncode == 0, told.stdout + told.stderr
    assert "replica-promoted-without-the-tail" in told.stdout


@pytest.mark.parametrize("planted", ["everysec", "early"])
def test_a_planted_fault_is_found_and_the_command_that_repeats_it_is_told(planted: str) -> None:
    told = tortured("--seed", "1", "--runs", "9", "--steps", "2", "--planted", planted)
    assert told.returncode == 1, told.stdout + told.stderr
    assert "another digest" in told.stdout or "acknowledged and lost" in told.stdout
    assert f"--steps 2 --planted {planted}" in told.stdout


def test_a_run_is_known_by_its_name_and_everything_comes_before_anything_comes_twice() -> None:
    plan = planned("7.1", 60, failover=False, knobs=True)
    assert plan == planned("7.1", 60, failover=False, knobs=True) != planned("7.2", 60, failover=False, knobs=True)
    first = [which for step in plan for which in step][: len(MISFORTUNES) - 1]
    assert len(set(first)) == len(first)
    assert not any("disk" in which for step in planned("7.1", 60, failover=False, knobs=False) for which in step)

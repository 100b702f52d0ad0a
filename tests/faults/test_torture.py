"""A short torture, and what it is worth: it finds the faults that are planted, and leaves nothing behind."""

import os
import re
import subprocess
import sys
import tempfile
import time

import pytest

from support.campaign import seeded
from support.faults import COUNTS_AS, FAULTS
from support.torture_run import make_plan

TORTURE = ("-m", "support.torture")


def run_torture(*words: str) -> subprocess.CompletedProcess[str]:
    """What came of a torture, which left nothing behind."""
    with tempfile.TemporaryDirectory() as folder:  # with a short name: there will be sockets in it
        env = os.environ | {"TMPDIR": folder}
        told = subprocess.run([sys.executable, *TORTURE, *words], env=env, capture_output=True, text=True, timeout=115)
        assert os.listdir(folder) == []
    return told


def test_whatever_befalls_two_servers_and_a_store_no_move_is_lost() -> None:
    told = run_torture("--run", f"{seeded().randrange(10**6)}.0", "--steps", "5")
    assert told.returncode == 0, told.stdout + told.stderr
    assert "0 runs violated" in told.stdout


def test_a_replica_that_is_promoted_without_the_tail_is_given_it_again() -> None:
    seed = f"{seeded().randrange(10**6)}"
    told = run_torture("--seed", seed, "--goal", "failovers=1", "--steps", "2")
    assert told.returncode == 0, told.stdout + told.stderr
    assert f"{seed}.0+failovers" in told.stdout
    assert re.search("failovers +1 of 1\n", told.stdout)
    assert "1 runs in" in told.stdout


@pytest.mark.parametrize("planted", ["everysec", "early"])
def test_a_planted_fault_is_found_and_the_command_that_repeats_it_is_told(planted: str) -> None:
    told = run_torture("--seed", "1", "--runs", "9", "--steps", "2", "--planted", planted)
    assert told.returncode == 1, told.stdout + told.stderr
    assert "another digest" in told.stdout or "acknowledged and lost" in told.stdout
    assert f"--steps 2 --races 1 --planted {planted}" in told.stdout


def test_a_run_is_known_by_its_name_and_everything_comes_before_anything_comes_twice() -> None:
    plan = make_plan("7.1", 60, failover=False, knobs=True)
    assert plan == make_plan("7.1", 60, failover=False, knobs=True) != make_plan("7.2", 60, failover=False, knobs=True)
    first = [which for step in plan for which in step][: len(FAULTS) - 1]
    assert len(set(first)) == len(first)
    assert not any("disk" in which for step in make_plan("7.1", 60, failover=False, knobs=False) for which in step)


@pytest.mark.parametrize("wanted", ["server-kills", "store-kills", "stalled-store-kills", "cuts"])
def test_a_run_has_more_of_what_its_name_asks_for(wanted: str) -> None:
    def share(name: str) -> float:
        faults = [which for step in make_plan(name, 200, failover=False, knobs=True) for which in step]
        return sum(wanted in COUNTS_AS[which] for which in faults) / len(faults)

    assert share(f"7.1+{wanted}") > 1.5 * share("7.1")
    assert make_plan(f"7.1+{wanted}", 9, failover=False, knobs=True) != make_plan("7.1", 9, failover=False, knobs=True)


def test_a_torture_that_is_ended_early_says_what_it_has_seen_and_leaves_nothing_behind() -> None:
    with tempfile.TemporaryDirectory() as folder:
        env = os.environ | {"TMPDIR": folder}
        words = (sys.executable, *TORTURE, "--long")
        with subprocess.Popen(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stdout
            assert "faults" in process.stdout.readline()
            while len(os.listdir(folder)) < 2:
                time.sleep(0.01)
            process.terminate()
            told, complained = process.communicate(timeout=30)
        assert process.returncode == 143, complained
        assert complained == ""
        assert re.search("store-kills +0 of 200\n", told)
        assert "0 runs in" in told
        assert os.listdir(folder) == []


def test_a_goal_that_is_none_is_refused() -> None:
    for goal in ("coffee=3", "cuts", "cuts=-1", "cuts=many"):
        told = run_torture("--goal", goal)
        assert told.returncode == 2
        assert "is not one of server-kills" in told.stderr

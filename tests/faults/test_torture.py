"""A short torture test: no move is lost, planted bugs are found, and nothing is left behind."""

import os
import subprocess
import sys
import tempfile
import time

import pytest

from support.campaign import seeded_random
from support.torture_run import FAILOVER_EVERY

pytestmark = [pytest.mark.timeout(300), pytest.mark.tier(3)]

TORTURE = ("-m", "support.torture")


def run_torture(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the torture test. It must not leave files behind."""
    with tempfile.TemporaryDirectory() as folder:  # a short name, because socket paths are limited
        env = os.environ | {"TMPDIR": folder}
        result = subprocess.run(
            [sys.executable, *TORTURE, *words], env=env, capture_output=True, text=True, timeout=240
        )
        assert os.listdir(folder) == []
    return result


def test_no_move_is_lost() -> None:
    result = run_torture("--run", f"{seeded_random().randrange(10**6)}.0", "--steps", "5")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "0 runs violated" in result.stdout


def test_lost_tail_is_written_again_after_a_failover() -> None:
    result = run_torture("--run", f"{seeded_random().randrange(10**6)}.{FAILOVER_EVERY - 1}", "--steps", "2")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "replica-promoted-without-the-tail" in result.stdout
    assert "1 runs in" in result.stdout


@pytest.mark.parametrize("planted", ["everysec", "early"])
def test_planted_bug_is_found_with_the_command_that_repeats_it(planted: str) -> None:
    result = run_torture("--seed", "1", "--runs", "9", "--steps", "2", "--planted", planted)
    assert result.returncode == 1, result.stdout + result.stderr
    assert "another digest" in result.stdout or "acknowledged and lost" in result.stdout
    assert f"--steps 2 --races 1 --planted {planted}" in result.stdout


def test_terminated_test_prints_its_results_and_leaves_nothing_behind() -> None:
    with tempfile.TemporaryDirectory() as folder:
        env = os.environ | {"TMPDIR": folder}
        words = (sys.executable, *TORTURE, "--jobs", "3")
        with subprocess.Popen(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stdout
            assert "faults" in process.stdout.readline()
            while len(os.listdir(folder)) < 2:
                time.sleep(0.01)
            process.terminate()
            stdout, stderr = process.communicate(timeout=240)
        assert process.returncode == 143, stderr
        assert stderr == ""
        assert "0 runs in" in stdout
        assert os.listdir(folder) == []
